// What a Java client of any release does with brokers of many releases. Each argument is a name, an
// equals sign and HOST:PORT; a name that ends with a plus sign has transactions. Each line of the
// output is a name, a tab and what came of it. The client's API is that of Kafka 2.8.

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

public final class Releases {
    private static final String STRINGS = "org.apache.kafka.common.serialization.String";
    private static final TopicPartition OUT = new TopicPartition("out", 0);

    public static void main(String[] arguments) {
        for (String each : arguments) {
            String[] parts = each.split("=");
            String name = parts[0].replace("+", "");
            String outcome;
            try {
                outcome = copy(parts[1], parts[0].endsWith("+"));
            } catch (Exception failed) {
                outcome = String.valueOf(failed);
            }
            System.out.println(name + "\t" + outcome);
        }
        System.exit(0);
    }

    private static String copy(String servers, boolean hasTransactions) throws Exception {
        try (Admin admin = Admin.create(settings(servers))) {
            List<NewTopic> topics = new ArrayList<>();
            for (String topic : List.of("in", "out")) {
                topics.add(new NewTopic(topic, 1, (short) 1));
            }
            admin.createTopics(topics).all().get();
            write(servers);
            List<String> copied = hasTransactions ? copyInTransactions(servers) : List.of();
            long end = admin.listOffsets(Map.of(OUT, OffsetSpec.latest())).all().get().get(OUT).offset();
            long committed = committed(admin);
            admin.deleteTopics(List.of("in", "out")).all().get();
            return "copied " + copied + ", end " + end + ", committed " + committed;
        }
    }

    private static void write(String servers) throws Exception {
        Properties settings = settings(servers);
        settings.put("enable.idempotence", "false");
        settings.put("acks", "all");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            for (String value : List.of("a", "b", "c")) {
                producer.send(new ProducerRecord<>("in", value)).get();
            }
        }
    }

    /** Aborts a first copy, commits a second one with the offsets, and reads what is committed. */
    private static List<String> copyInTransactions(String servers) {
        Properties settings = settings(servers);
        settings.put("transactional.id", "copy");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings);
                KafkaConsumer<String, String> input = consumer(servers, "copies")) {
            producer.initTransactions();
            input.subscribe(List.of("in"));
            List<String> values = read(input, 3);
            producer.beginTransaction();
            values.forEach(each -> producer.send(new ProducerRecord<>("out", "aborted " + each)));
            producer.flush();
            producer.abortTransaction();
            producer.beginTransaction();
            values.forEach(each -> producer.send(new ProducerRecord<>("out", each)));
            Map<TopicPartition, OffsetAndMetadata> offsets =
                    Map.of(new TopicPartition("in", 0), new OffsetAndMetadata(3));
            producer.sendOffsetsToTransaction(offsets, input.groupMetadata());
            producer.commitTransaction();
        }
        try (KafkaConsumer<String, String> output = consumer(servers, "readers")) {
            output.assign(List.of(OUT));
            output.seekToBeginning(List.of(OUT));
            return read(output, 3);
        }
    }

    private static long committed(Admin admin) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> found =
                admin.listConsumerGroupOffsets("copies").partitionsToOffsetAndMetadata().get();
        OffsetAndMetadata offset = found.get(new TopicPartition("in", 0));
        return offset == null ? -1 : offset.offset();
    }

    private static List<String> read(KafkaConsumer<String, String> consumer, int count) {
        List<String> found = new ArrayList<>();
        long deadline = System.currentTimeMillis() + 30_000;
        while (found.size() < count && System.currentTimeMillis() < deadline) {
            consumer.poll(Duration.ofMillis(500)).forEach(each -> found.add(each.value()));
        }
        return Collections.unmodifiableList(found);
    }

    private static KafkaConsumer<String, String> consumer(String servers, String group) {
        Properties settings = settings(servers);
        settings.put("group.id", group);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("isolation.level", "read_committed");
        return new KafkaConsumer<>(settings);
    }

    private static Properties settings(String servers) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        for (String side : List.of("key", "value")) {
            settings.put(side + ".serializer", STRINGS + "Serializer");
            settings.put(side + ".deserializer", STRINGS + "Deserializer");
        }
        return settings;
    }
}
