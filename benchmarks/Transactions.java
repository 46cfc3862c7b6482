import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Commits one transaction after another for a while, and prints how long each took, in nanoseconds,
 * a line each: {@code Transactions BOOTSTRAP TOPIC SECONDS RECORDS PARTITIONS}.
 */
public class Transactions {
    public static void main(String[] given) {
        StringBuilder out = new StringBuilder();
        for (long took : run(given, (long) (Double.parseDouble(given[2]) * 1e9))) {
            out.append(took).append('\n');
        }
        System.out.print(out);
    }

    private static List<Long> run(String[] given, long lasts) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", given[0]);
        settings.put("transactional.id", "load-" + UUID.randomUUID());
        settings.put("key.serializer", ByteArraySerializer.class.getName());
        settings.put("value.serializer", ByteArraySerializer.class.getName());
        int records = Integer.parseInt(given[3]);
        int partitions = Integer.parseInt(given[4]);
        byte[] value = new byte[100];
        Arrays.fill(value, (byte) 'x');
        List<Long> took = new ArrayList<>();
        long ends = 0;
        // Apache Kafka 4.1.1 now and then refuses a fast producer with INVALID_TXN_STATE, which is
        // fatal to it; a new one goes on.
        for (int producers = 0; producers < 100 && (ends == 0 || System.nanoTime() < ends); producers++) {
            try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
                producer.initTransactions();
                commit(producer, given[1], 1, 1, value);  // looks up leaders and coordinators
                ends = ends == 0 ? System.nanoTime() + lasts : ends;
                for (long before = System.nanoTime(); before < ends; before = System.nanoTime()) {
                    commit(producer, given[1], records, partitions, value);
                    took.add(System.nanoTime() - before);
                }
            } catch (KafkaException refused) {
                System.err.println(refused);
            }
        }
        return took;
    }

    private static void commit(
            KafkaProducer<byte[], byte[]> producer, String topic, int records, int partitions, byte[] value) {
        producer.beginTransaction();
        for (int i = 0; i < records; i++) {
            producer.send(new ProducerRecord<>(topic, i % partitions, null, value));
        }
        producer.commitTransaction();
    }
}
