import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A share consumer that reads 200 records in one mode: BOOTSTRAP implicit|explicit|record_limit|renew.
 *
 * Of ten records, an explicit one releases the first until its third delivery, rejects the second,
 * and in the mode renew renews the lock of the third once. It prints what it has done.
 */
public final class ShareRecords {
    private static final int COUNT = 200;

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> common = Map.of("bootstrap.servers", arguments[0]);
        String mode = arguments[1], topic = "orders-" + mode, group = "shop-" + mode;
        try (Admin admin = Admin.create(common)) {
            admin.createTopics(List.of(new NewTopic(topic, 2, (short) 1))).all().get();
            ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
            ConfigEntry earliest = new ConfigEntry("share.auto.offset.reset", "earliest");
            AlterConfigOp set = new AlterConfigOp(earliest, AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(resource, List.of(set))).all().get();
        }
        StringSerializer text = new StringSerializer();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(common, text, text)) {
            for (int number = 0; number < COUNT; number++)
                producer.send(new ProducerRecord<>(topic, number % 2, null, "" + number));
        }
        Map<String, Object> settings = new HashMap<>(common);
        settings.put("group.id", group);
        boolean isExplicit = !mode.equals("implicit");
        if (isExplicit) settings.put("share.acknowledgement.mode", "explicit");
        if (mode.equals("record_limit")) {
            settings.put("share.acquire.mode", "record_limit");
            settings.put("max.poll.records", "7");
        }
        Map<Integer, Integer> deliveries = new TreeMap<>();
        Set<String> done = new HashSet<>(), renewed = new HashSet<>();
        int most = 0;
        StringDeserializer read = new StringDeserializer();
        try (KafkaShareConsumer<String, String> consumer =
                new KafkaShareConsumer<>(settings, read, read)) {
            consumer.subscribe(List.of(topic));
            while (done.size() < COUNT) {
                int polled = 0;
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    polled++;
                    int number = Integer.parseInt(record.value()) % 10;
                    int count = record.deliveryCount().orElse((short) 0);
                    AcknowledgeType type = AcknowledgeType.ACCEPT;
                    if (number == 0 && count < 3) type = AcknowledgeType.RELEASE;
                    if (number == 1) type = AcknowledgeType.REJECT;
                    if (number == 2 && mode.equals("renew") && renewed.add(record.value()))
                        type = AcknowledgeType.RENEW;
                    if (isExplicit) consumer.acknowledge(record, type);
                    else type = AcknowledgeType.ACCEPT;
                    if (type == AcknowledgeType.RENEW) continue;
                    deliveries.merge(count, 1, Integer::sum);
                    if (type != AcknowledgeType.RELEASE) done.add(record.value());
                }
                most = Math.max(most, polled);
                consumer.commitSync();
            }
        }
        try (Admin admin = Admin.create(common)) {
            long lag = admin.listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec()))
                .partitionsToOffsetInfo(group).get().values().stream()
                .mapToLong(each -> each.lag().orElse(-1L)).sum();
            System.out.println("done " + done.size() + " deliveries " + deliveries + " renewed "
                + renewed.size() + " lag " + lag + " at most " + (most <= 7 ? "7" : "more"));
        }
    }
}
