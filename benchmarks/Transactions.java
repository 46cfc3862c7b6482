import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
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
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
            producer.initTransactions();
            long started = 0;
            for (int number = 0; number < 1_000_000; number++) {
                long before = System.nanoTime();
                if (number == 1) {
                    started = before;  // the first one looks up leaders and coordinators
                }
                if (number > 1 && before - started > lasts) {
                    break;
                }
                producer.beginTransaction();
                for (int i = 0; i < records; i++) {
                    producer.send(new ProducerRecord<>(given[1], i % partitions, null, value));
                }
                producer.commitTransaction();
                if (number > 0) {
                    took.add(System.nanoTime() - before);
                }
            }
        }
        return took;
    }
}
