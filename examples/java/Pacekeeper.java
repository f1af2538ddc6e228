import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.CRC32;

/** A check from Java: the keys, the call, and what to do when Redis has lost the script. */
public final class Pacekeeper {
    /** The answer. Codes 0 to 4 pass; 3 passes after waitMs. */
    public record Decision(long code, long waitMs, long remaining, long limit, long strikes, long step, long version) {
        public boolean allowed() {
            return code <= 4;
        }
    }

    private final Resp redis;
    private final byte[] script;
    private final String sha;

    public Pacekeeper(Resp redis, Path checkLua) throws Exception {
        this.redis = redis;
        this.script = Files.readAllBytes(checkLua);
        this.sha = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(script));
    }

    /** The cluster hash tag of all keys of a group: CRC-32 of the id's bytes mod 256. */
    public static String shardTag(String group) {
        CRC32 crc = new CRC32();
        crc.update(group.getBytes(StandardCharsets.UTF_8));
        return String.format("{s%02x}", crc.getValue() & 255);
    }

    /** KEYS of the script, in its order. ~user, ~peer and ~ip stand in a group's place, their subject in the user's. */
    public static List<String> keysOf(String action, String group, String user) {
        String head = "pk:" + shardTag(group.startsWith("~") ? user : group);
        return List.of(
                head + ":policy:" + action + "|" + group,
                head + ":default:" + action,
                head + ":state:" + action + "|" + group + "|" + user,
                head + ":member:" + group + "|" + user);
    }

    /** Decides one attempt; nowMs is for tests, null = the clock of Redis. */
    public Decision check(String action, String group, String user, List<String> roles, long cost, Long nowMs) throws IOException {
        List<Object> rest = new ArrayList<>(List.of("4"));
        rest.addAll(keysOf(action, group, user));
        rest.addAll(List.of(user, String.join(",", roles.stream().filter(role -> !role.contains(",")).toList()), Long.toString(cost)));
        if (nowMs != null) {
            rest.add(nowMs.toString());
        }
        Object answer;
        try {
            answer = redis.call("EVALSHA", sha, rest);
        } catch (Resp.ErrorReply e) {
            if (!e.getMessage().startsWith("NOSCRIPT")) {
                throw e;
            }
            answer = redis.call("EVAL", script, rest); // runs it and keeps it
        }
        List<?> n = (List<?>) answer;
        return new Decision(at(n, 0), at(n, 1), at(n, 2), at(n, 3), at(n, 4), at(n, 5), at(n, 6));
    }

    private static long at(List<?> reply, int i) {
        return (Long) reply.get(i);
    }
}
