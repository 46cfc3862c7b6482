// Kafka's Java clients, driven by lines: COMMAND WORDS. Each line gets a line: `ok ...` or `error CLASS ...`.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;

public final class LabClient {
    private static final String SERIALIZATION = "org.apache.kafka.common.serialization.String";
    private final Map<String, Object> settings = new HashMap<>();
    private final List<Future<RecordMetadata>> promises = new ArrayList<>();
    private KafkaProducer<String, String> producer;

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        PrintStream answers = System.out;
        System.setOut(System.err); // the client logs there
        LabClient client = new LabClient();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            try {
                answers.println("ok " + client.run(line.split(" ")));
            } catch (ExecutionException failure) {
                answers.println("error " + failure.getCause().getClass().getSimpleName());
            } catch (Exception failure) {
                answers.println("error " + failure.getClass().getSimpleName());
            }
        }
    }

    private String run(String[] words) throws Exception {
        switch (words[0]) {
            case "open" -> open(words);
            case "init" -> producer.initTransactions();
            case "begin" -> producer.beginTransaction();
            case "send" -> promises.add(producer.send(new ProducerRecord<>(words[1], words[2])));
            case "offset" -> producer.sendOffsetsToTransaction(
                Map.of(new TopicPartition(words[2], 0), new OffsetAndMetadata(Long.parseLong(words[3]))),
                new ConsumerGroupMetadata(words[1]));
            case "flush" -> flush();
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            case "close" -> producer.close(Duration.ofSeconds(1));
            case "poll" -> {
                return poll(words[1], Integer.parseInt(words[2]));
            }
            case "read" -> {
                return read(words[1], Long.parseLong(words[2]), Long.parseLong(words[3]), Integer.parseInt(words[4]));
            }
            default -> throw new IllegalArgumentException(words[0]);
        }
        return "";
    }

    private void open(String[] words) {
        settings.clear();
        promises.clear();
        for (int index = 1; index < words.length; index++) {
            String[] pair = words[index].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        Map<String, Object> mine = new HashMap<>(settings);
        mine.put("key.serializer", SERIALIZATION + "Serializer");
        mine.put("value.serializer", SERIALIZATION + "Serializer");
        producer = new KafkaProducer<>(mine);
    }

    private void flush() throws Exception {
        producer.flush();
        for (Future<RecordMetadata> promise : promises) {
            promise.get();
        }
        promises.clear();
    }

    private Properties consumerSettings() {
        Properties mine = new Properties();
        mine.put("bootstrap.servers", settings.get("bootstrap.servers"));
        mine.put("client.id", settings.get("client.id"));
        mine.put("isolation.level", "read_committed");
        mine.put("fetch.max.wait.ms", "10");
        mine.put("auto.offset.reset", "earliest");
        mine.put("key.deserializer", SERIALIZATION + "Deserializer");
        mine.put("value.deserializer", SERIALIZATION + "Deserializer");
        return mine;
    }

    private String poll(String topic, int count) {
        List<String> values = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(consumerSettings())) {
            TopicPartition partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long ends = System.nanoTime() + 20_000_000_000L;
            while (values.size() < count && System.nanoTime() < ends) {
                for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(100))) {
                    values.add(each.value());
                }
            }
        }
        return String.join(" ", values);
    }

    // Each record as VALUE@OFFSET; each error as its class and cause, after which it fetches from its position again.
    private String read(String topic, long start, long end, int mostErrors) {
        List<String> found = new ArrayList<>();
        int errors = 0;
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(consumerSettings())) {
            TopicPartition partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seek(partition, start);
            long ends = System.nanoTime() + 20_000_000_000L;
            while (errors < mostErrors && consumer.position(partition) < end && System.nanoTime() < ends) {
                try {
                    for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(100))) {
                        found.add(each.value() + "@" + each.offset());
                    }
                } catch (RuntimeException failure) {
                    Throwable cause = failure.getCause() == null ? failure : failure.getCause();
                    found.add(cause.getClass().getSimpleName());
                    errors++;
                    long position = consumer.position(partition);
                    consumer.assign(List.of()); // a seek alone keeps the answer with the error
                    consumer.assign(List.of(partition));
                    consumer.seek(partition, position);
                }
            }
        }
        return String.join(" ", found);
    }
}
