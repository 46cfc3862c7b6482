// Kafka's Java client on one listener. The arguments are the fields of a job (job.py); the output is a line.

import java.io.IOException;
import java.io.StringReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

public final class SecuredClient {
    private static final int VALUES = 20;
    private static final long ANSWER_S = 20;
    private static final String SERIALIZATION = "org.apache.kafka.common.serialization.String";
    private static final String PACKAGE = "org.apache.kafka.common.security.";

    private final Map<String, Object> settings;
    private final String topic;
    private int count = 0;
    private boolean committed = false;

    private SecuredClient(String[] job) throws IOException {
        settings = job[9].isEmpty() ? settings(job) : given(job[9]);
        topic = job[7];
    }

    public static void main(String[] job) {
        try {
            System.out.println(new SecuredClient(job).run(Double.parseDouble(job[8])));
        } catch (Exception failure) {
            System.err.println(String.valueOf(failure).replace('\n', ' '));
            System.exit(1);
        }
    }

    private String run(double seconds) throws Exception {
        try (KafkaProducer<String, String> producer = producer(Map.of());
                KafkaConsumer<String, String> consumer = consumer()) {
            consumer.subscribe(List.of(topic));
            List<Future<RecordMetadata>> promises = new ArrayList<>();
            long ends = System.nanoTime() + (long) (seconds * 1e9);
            while (promises.size() < VALUES || System.nanoTime() < ends) {
                String value = Integer.toString(promises.size());
                promises.add(producer.send(new ProducerRecord<>(topic, value)));
                read(consumer, Duration.ofMillis(1)); // the rate of the load
            }
            for (Future<RecordMetadata> promise : promises) {
                promise.get(ANSWER_S, TimeUnit.SECONDS);
            }
            writeTransactions();
            ends = System.nanoTime() + TimeUnit.SECONDS.toNanos(ANSWER_S);
            while (!(count == promises.size() && committed)) {
                if (System.nanoTime() > ends) {
                    throw new IllegalStateException("read " + count + " of " + promises.size());
                }
                read(consumer, Duration.ofMillis(200));
            }
            return promises.size() + " sent, " + count + " read, with transactions";
        }
    }

    private void writeTransactions() {
        try (KafkaProducer<String, String> writer = producer(Map.of("transactional.id", topic))) {
            writer.initTransactions();
            for (String value : List.of("aborted", "committed")) {
                writer.beginTransaction();
                writer.send(new ProducerRecord<>(topic, value));
                writer.flush(); // an abort drops what was not sent
                if (value.equals("aborted")) {
                    writer.abortTransaction();
                } else {
                    writer.commitTransaction();
                }
            }
        }
    }

    private void read(KafkaConsumer<String, String> consumer, Duration timeout) {
        for (ConsumerRecord<String, String> found : consumer.poll(timeout)) {
            if (found.value().equals("committed") && !committed) {
                committed = true;
            } else if (found.value().equals(Integer.toString(count))) {
                count += 1;
            } else {
                throw new IllegalStateException("read " + found.value() + " instead of " + count);
            }
        }
    }

    private KafkaProducer<String, String> producer(Map<String, Object> others) {
        Map<String, Object> all = new HashMap<>(settings);
        all.put("key.serializer", SERIALIZATION + "Serializer");
        all.put("value.serializer", SERIALIZATION + "Serializer");
        all.put("linger.ms", "1");
        all.putAll(others);
        return new KafkaProducer<>(all);
    }

    private KafkaConsumer<String, String> consumer() {
        Map<String, Object> all = new HashMap<>(settings);
        all.put("key.deserializer", SERIALIZATION + "Deserializer");
        all.put("value.deserializer", SERIALIZATION + "Deserializer");
        all.put("group.id", topic);
        all.put("auto.offset.reset", "earliest");
        all.put("isolation.level", "read_committed");
        return new KafkaConsumer<>(all);
    }

    private static Map<String, Object> given(String text) throws IOException {
        Properties properties = new Properties();
        properties.load(new StringReader(text));
        Map<String, Object> found = new HashMap<>();
        properties.forEach((name, value) -> found.put((String) name, value));
        return found;
    }

    private static Map<String, Object> settings(String[] job) {
        Map<String, Object> found = new HashMap<>();
        found.put("bootstrap.servers", job[0]);
        // After a re-authentication by TLS the client may leave an answer unread for this time.
        found.put("request.timeout.ms", "5000");
        found.put("security.protocol", job[1]);
        if (!job[5].isEmpty()) {
            found.put("ssl.truststore.type", "PEM");
            found.put("ssl.truststore.location", job[5]);
        }
        if (!job[6].isEmpty()) {
            found.put("ssl.keystore.type", "PEM");
            found.put("ssl.keystore.location", job[6]);
        }
        if (!job[2].isEmpty()) {
            found.put("sasl.mechanism", job[2]);
            found.put("sasl.jaas.config", PACKAGE + module(job[2], job[3], job[4]));
        }
        return found;
    }

    private static String module(String mechanism, String name, String password) {
        if (mechanism.equals("OAUTHBEARER")) {
            String claim = " required unsecuredLoginStringClaim_sub=\"" + name + "\";";
            return "oauthbearer.OAuthBearerLoginModule" + claim;
        }
        String module = mechanism.equals("PLAIN") ? "plain.Plain" : "scram.Scram";
        String login = "username=\"" + name + "\" password=\"" + password + "\";";
        return module + "LoginModule required " + login;
    }
}
