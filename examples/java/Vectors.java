import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Holds the client against ../vectors.json. REDIS_URL names a Redis of its own; what the vectors touch there is replaced. */
public final class Vectors {
    // One vector is one line of the file; a service would take a JSON library.
    private static final Pattern POLICY = Pattern.compile("^\\{\"key\":\"([^\"]+)\",\"fields\":\\{(.*)\\}\\},?$");
    private static final Pattern FIELD = Pattern.compile("\"([^\"]+)\":\"([^\"]*)\"");
    private static final Pattern EXEMPT = Pattern.compile("^\\{\"key\":\"([^\"]+)\",\"user\":\"([^\"]+)\",\"expiry\":\"([^\"]+)\"\\},?$");
    private static final Pattern CALL = Pattern.compile("^\\{\"tag\":\"([^\"]+)\",\"action\":\"([^\"]+)\",\"group\":\"([^\"]+)\","
            + "\"user\":\"([^\"]+)\",\"roles\":\\[(.*)\\],\"cost\":(\\d+),\"now_ms\":(\\d+),\"want\":\\[([\\d,]+)\\]\\},?$");

    public static void main(String[] args) throws Exception {
        String url = System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379");
        Path root = Path.of(args.length > 0 ? args[0] : "../..");
        List<String> lines = Files.readAllLines(root.resolve("examples/vectors.json"));
        try (Resp redis = new Resp(URI.create(url))) {
            redis.call("SCRIPT", "FLUSH"); // the first call meets NOSCRIPT
            List<Matcher> calls = new ArrayList<>();
            for (String line : lines) {
                prepare(redis, line, calls);
            }
            int failed = run(new Pacekeeper(redis, root.resolve("enforce/check.lua")), calls);
            System.out.printf("java %s: %d passed, %d failed%n", System.getProperty("java.version"), calls.size() - failed, failed);
            System.exit(failed > 0 || calls.isEmpty() ? 1 : 0);
        }
    }

    private static void prepare(Resp redis, String line, List<Matcher> calls) throws Exception {
        Matcher policy = POLICY.matcher(line), exempt = EXEMPT.matcher(line), call = CALL.matcher(line);
        if (policy.matches()) {
            for (Matcher field = FIELD.matcher(policy.group(2)); field.find();) {
                redis.call("HSET", policy.group(1), field.group(1), Base64.getDecoder().decode(field.group(2)));
            }
        } else if (exempt.matches()) {
            redis.call("ZADD", exempt.group(1), exempt.group(3), exempt.group(2));
        } else if (call.matches()) {
            redis.call("DEL", Pacekeeper.keysOf(call.group(2), call.group(3), call.group(4)).subList(2, 4));
            redis.call("DEL", Pacekeeper.keysOf(call.group(2), call.group(3), "~group").subList(2, 3));
            calls.add(call);
        }
    }

    private static int run(Pacekeeper pace, List<Matcher> calls) throws Exception {
        int failed = 0;
        for (Matcher c : calls) {
            List<String> roles = c.group(5).isEmpty() ? List.of() : List.of(c.group(5).replace("\"", "").split(","));
            Pacekeeper.Decision d = pace.check(c.group(2), c.group(3), c.group(4), roles, Long.parseLong(c.group(6)), Long.valueOf(c.group(7)));
            String got = String.join(",", List.of("" + d.code(), "" + d.waitMs(), "" + d.remaining(), "" + d.limit(),
                    "" + d.strikes(), "" + d.step(), "" + d.version()));
            if (!got.equals(c.group(8)) || !Pacekeeper.keysOf(c.group(2), c.group(3), c.group(4)).get(0).startsWith("pk:" + c.group(1) + ":")) {
                failed++;
                System.err.println("call " + c.group() + " got " + got);
            }
        }
        return failed;
    }
}
