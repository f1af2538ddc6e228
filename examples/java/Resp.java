import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** The little of Redis's protocol that the example needs, so that a JDK alone runs it; services take Lettuce or Jedis. */
final class Resp implements AutoCloseable {
    /** What Redis refused. */
    static final class ErrorReply extends IOException {
        ErrorReply(String message) {
            super(message);
        }
    }

    private final Socket socket;
    private final InputStream in;
    private final OutputStream out;

    Resp(URI url) throws IOException {
        socket = new Socket(url.getHost(), url.getPort());
        socket.setTcpNoDelay(true);
        in = new BufferedInputStream(socket.getInputStream());
        out = new BufferedOutputStream(socket.getOutputStream());
    }

    /** Sends words (text, bytes or lists of them); answers Long, byte[], List or null. */
    Object call(Object... words) throws IOException {
        List<byte[]> flat = new ArrayList<>();
        flatten(List.of(words), flat);
        line("*" + flat.size());
        for (byte[] word : flat) {
            line("$" + word.length);
            out.write(word);
            line("");
        }
        out.flush();
        return read();
    }

    private static void flatten(List<?> words, List<byte[]> into) {
        for (Object word : words) {
            if (word instanceof List<?> list) {
                flatten(list, into);
            } else {
                into.add(word instanceof byte[] bytes ? bytes : word.toString().getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    private void line(String text) throws IOException {
        out.write((text + "\r\n").getBytes(StandardCharsets.UTF_8));
    }

    private Object read() throws IOException {
        String head = readLine();
        String rest = head.substring(1);
        switch (head.charAt(0)) {
            case '+':
                return rest;
            case '-':
                throw new ErrorReply(rest);
            case ':':
                return Long.valueOf(rest);
            case '$':
                return readBytes(Integer.parseInt(rest));
            default:
                List<Object> list = new ArrayList<>();
                for (int i = Integer.parseInt(rest); i > 0; i--) {
                    list.add(read());
                }
                return list;
        }
    }

    private byte[] readBytes(int length) throws IOException {
        if (length < 0) {
            return null;
        }
        byte[] bytes = in.readNBytes(length);
        readLine();
        return bytes;
    }

    private String readLine() throws IOException {
        StringBuilder text = new StringBuilder();
        for (int b = in.read(); b != '\n'; b = in.read()) {
            if (b < 0) {
                throw new EOFException("Redis closed the connection");
            }
            if (b != '\r') {
                text.append((char) b);
            }
        }
        return text.toString();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
