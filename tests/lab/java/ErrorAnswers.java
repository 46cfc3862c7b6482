// What Kafka's requests answer with an error instead of their effect (AbstractRequest.getErrorResponse).
// Each line of the input is the name of an API, a version and a request body in hex; each line of the
// output is the same name and version, and the answer's body in hex, or the class of what was thrown.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;

public final class ErrorAnswers {
    public static void main(String[] none) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", -1);
            System.out.println(words[0] + " " + words[1] + " " + answer(words[0], Short.parseShort(words[1]), words[2]));
        }
    }

    private static String answer(String api, short version, String body) {
        try {
            ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(body));
            AbstractRequest request = AbstractRequest.parseRequest(
                ApiKeys.valueOf(api), version, new ByteBufferAccessor(bytes)).request;
            AbstractResponse response = request.getErrorResponse(0, new ClusterAuthorizationException("refused"));
            return response == null ? "none" : hex(response.data(), version);
        } catch (Throwable thrown) {
            return thrown.getClass().getSimpleName();
        }
    }

    private static String hex(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer bytes = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(bytes), cache, version);
        return HexFormat.of().formatHex(bytes.array());
    }
}
