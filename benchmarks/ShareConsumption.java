import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads records of a topic once in a new share group: {@code ShareConsumption BOOTSTRAP TOPIC GROUP RECORDS}.
 *
 * It prints "began" after the first poll with records, and "ended RECORDS NANOSECONDS" of those polled after it.
 */
public class ShareConsumption {
    private static final String RESET = "share.auto.offset.reset";

    public static void main(String[] given) throws Exception {
        Map<String, Object> common = Map.of("bootstrap.servers", given[0]);
        try (Admin admin = Admin.create(common)) {
            readFromTheEarliest(admin, given[2]);
        }
        Map<String, Object> settings = Map.of("bootstrap.servers", given[0], "group.id", given[2]);
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(settings, bytes, bytes)) {
            consumer.subscribe(List.of(given[1]));
            int first = 0;
            while (first == 0) first = consumer.poll(Duration.ofSeconds(1)).count();
            System.out.println("began");
            long began = System.nanoTime();
            int read = 0, wanted = Integer.parseInt(given[3]) - first;
            while (read < wanted) read += consumer.poll(Duration.ofSeconds(1)).count();
            System.out.println("ended " + read + " " + (System.nanoTime() - began));
        }
    }

    private static void readFromTheEarliest(Admin admin, String group) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        AlterConfigOp set = new AlterConfigOp(new ConfigEntry(RESET, "earliest"), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(set))).all().get();
        // A group that joins before its setting is known would begin at the latest record.
        while (!admin.describeConfigs(List.of(resource)).all().get().get(resource).get(RESET).value().equals("earliest")) {
            Thread.sleep(10);
        }
    }
}
