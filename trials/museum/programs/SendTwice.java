import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** An idempotent producer sends a record, and after the failure of that another one. */
public class SendTwice {
    public static void main(String[] arguments) throws InterruptedException {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", System.getenv("KAFKA_BOOTSTRAP_SERVERS"),
                "client.id", "museum",
                "enable.idempotence", "true");
        var serializer = new StringSerializer();
        try (var producer = new KafkaProducer<>(settings, serializer, serializer)) {
            for (String value : new String[] {"a", "b"}) {
                try {
                    producer.send(new ProducerRecord<>("museum", 0, null, value)).get();
                    System.out.println("seen: sent " + value);
                } catch (ExecutionException | RuntimeException failed) {
                    System.out.println("seen: failed " + value + " " + failed.getMessage());
                }
            }
        }
    }
}
