import java.util.Map;
import java.util.Scanner;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringSerializer;

/** Calls initTransactions() again after a timeout, as its documentation allows. */
public class InitTransactionsAgain {
    public static void main(String[] arguments) {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", System.getenv("KAFKA_BOOTSTRAP_SERVERS"),
                "client.id", "museum",
                "transactional.id", "shop",
                "max.block.ms", "2000");
        var serializer = new StringSerializer();
        try (var producer = new KafkaProducer<>(settings, serializer, serializer)) {
            try {
                producer.initTransactions();
            } catch (TimeoutException late) {
                System.out.println("seen: timeout");
                System.out.flush();
            }
            new Scanner(System.in).nextLine();
            // The late answer is on its way. The producer's one thread of the network has handled it
            // when it has gone round twice more, for answers that the broker sends afterwards.
            producer.partitionsFor("museum");
            producer.partitionsFor("museum-other");
            try {
                producer.initTransactions();
                producer.beginTransaction();
                producer.send(new ProducerRecord<>("museum", 0, null, "a"));
                producer.commitTransaction();
                System.out.println("seen: committed");
            } catch (RuntimeException failed) {
                System.out.println("seen: failed " + failed.getMessage());
            }
        }
        System.exit(0);
    }
}
