import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Copies a topic exactly once with the Java client. It runs against any Kafka, and is a program
 * for `ottla conform -- java -cp 'kafka/libs/*' CopyTopic.java` and for `ottla torture`. If
 * OTTLA_RECORDS is 0 it copies until SIGTERM.
 */
public class CopyTopic {
    private static final String INPUT = System.getenv("OTTLA_INPUT");
    private static final String OUTPUT = System.getenv("OTTLA_OUTPUT");

    private final KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(consumerSettings());
    private final KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(producerSettings());

    private static volatile boolean isStopped = false;

    public static void main(String[] arguments) {
        Thread copying = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(copying)));
        new CopyTopic().copy(Integer.parseInt(variable("OTTLA_RECORDS", "0")));
    }

    /** Lets the transaction end, and the clients close. */
    private static void stop(Thread copying) {
        isStopped = true;
        try {
            copying.join();
        } catch (InterruptedException ignored) {
            Thread.currentThread().interrupt();
        }
    }

    private static String variable(String name, String otherwise) {
        return System.getenv().getOrDefault(name, otherwise);
    }

    private static Properties consumerSettings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", System.getenv("OTTLA_BOOTSTRAP"));
        settings.put("group.id", System.getenv("OTTLA_GROUP"));
        String protocol = System.getenv("COPY_GROUP_PROTOCOL");
        if (protocol == null) {
            settings.put("heartbeat.interval.ms", variable("COPY_HEARTBEAT_INTERVAL_MS", "3000"));
        } else {
            settings.put("group.protocol", protocol);
        }
        settings.put("isolation.level", "read_committed");
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("max.poll.records", "10");
        settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
        return settings;
    }

    private static Properties producerSettings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", System.getenv("OTTLA_BOOTSTRAP"));
        settings.put("transactional.id", System.getenv("OTTLA_TRANSACTIONAL_ID"));
        settings.put("key.serializer", ByteArraySerializer.class.getName());
        settings.put("value.serializer", ByteArraySerializer.class.getName());
        return settings;
    }

    /** Copies records until all are there. A corrupt batch ends the program. */
    private void copy(int wanted) {
        try (consumer; producer) {
            copyAll(wanted);
        }
    }

    private void copyAll(int wanted) {
        consumer.subscribe(List.of(INPUT));
        producer.initTransactions();
        int copied = 0;
        while ((wanted == 0 || copied < wanted) && !isStopped) {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
            if (records.isEmpty()) {
                continue;
            }
            if (isCopied(records)) {
                copied += records.count();
            } else {
                goBack();
            }
        }
    }

    /**
     * Copies records in one transaction; false if it was aborted. If the producer is of no more use,
     * for instance because it was fenced, it cannot abort either, and the program ends.
     */
    private boolean isCopied(ConsumerRecords<byte[], byte[]> records) {
        producer.beginTransaction();
        try {
            for (ConsumerRecord<byte[], byte[]> each : records) {
                producer.send(new ProducerRecord<>(OUTPUT, each.key(), each.value()));
            }
            producer.sendOffsetsToTransaction(offsets(records), consumer.groupMetadata());
            commit();
            return true;
        } catch (ProducerFencedException fenced) {
            throw fenced;
        } catch (KafkaException failed) {
            producer.abortTransaction();
            return false;
        }
    }

    /** After a timeout the same commit is tried again: whether it was applied is not known. */
    private void commit() {
        while (true) {
            try {
                producer.commitTransaction();
                return;
            } catch (TimeoutException late) {
                System.err.println("commit again after " + late);
            }
        }
    }

    private static Map<TopicPartition, OffsetAndMetadata> offsets(
            ConsumerRecords<byte[], byte[]> records) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> each : records) {
            TopicPartition place = new TopicPartition(each.topic(), each.partition());
            offsets.put(place, new OffsetAndMetadata(each.offset() + 1));
        }
        return offsets;
    }

    /** Reads again from the committed offsets. */
    private void goBack() {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        committed.forEach((place, offset) -> {
            if (offset == null) {
                consumer.seekToBeginning(List.of(place));
            } else {
                consumer.seek(place, offset);
            }
        });
    }
}
