import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Bug: after an error that aborts the transaction the program goes on with the next records.
 *
 * <p>The consumer has its position behind the records whose output was aborted, and the next
 * transaction commits later offsets: the records are lost. Right code goes back to the committed
 * offsets after the abort, as goBack of examples/clients/CopyTopic.java does.
 */
public class AbortableIgnored {
    private static volatile boolean isStopped = false;

    public static void main(String[] arguments) {
        Thread copying = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(copying)));
        Map<String, Object> reading = settings();
        reading.put("group.id", System.getenv("OTTLA_GROUP"));
        reading.put("isolation.level", "read_committed");
        reading.put("enable.auto.commit", "false");
        reading.put("auto.offset.reset", "earliest");
        reading.put("heartbeat.interval.ms", "300");
        Map<String, Object> writing = settings();
        writing.put("transactional.id", System.getenv("OTTLA_TRANSACTIONAL_ID"));
        var bytes = new ByteArrayDeserializer();
        var plain = new ByteArraySerializer();
        try (var consumer = new KafkaConsumer<>(reading, bytes, bytes);
                var producer = new KafkaProducer<>(writing, plain, plain)) {
            consumer.subscribe(List.of(System.getenv("OTTLA_INPUT")));
            producer.initTransactions();
            while (!isStopped) {
                copy(consumer, producer);
            }
        }
    }

    private static Map<String, Object> settings() {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", System.getenv("OTTLA_BOOTSTRAP"));
        return settings;
    }

    private static void stop(Thread copying) {
        isStopped = true;
        try {
            copying.join();
        } catch (InterruptedException ignored) {
            Thread.currentThread().interrupt();
        }
    }

    private static void copy(
            KafkaConsumer<byte[], byte[]> consumer, KafkaProducer<byte[], byte[]> producer) {
        ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
        if (records.isEmpty()) {
            return;
        }
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        producer.beginTransaction();
        try {
            for (ConsumerRecord<byte[], byte[]> each : records) {
                String output = System.getenv("OTTLA_OUTPUT");
                producer.send(new ProducerRecord<>(output, each.key(), each.value()));
                TopicPartition place = new TopicPartition(each.topic(), each.partition());
                offsets.put(place, new OffsetAndMetadata(each.offset() + 1));
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            producer.commitTransaction();
        } catch (KafkaException failed) {
            System.err.println(failed);
            producer.abortTransaction();
        }
    }
}
