// What Kafka's Java client tells users with rights and without them. Arguments: HOST:PORT for
// administration without a login, HOST:PORT with a login by PLAIN. Users are their own passwords.
// Each line of the output is a user, an action and its outcome, with tabs between them.

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

public final class SecuredUsers {
    private static final String CODECS = "org.apache.kafka.common.serialization.String";
    private static final TopicPartition ORDERS = new TopicPartition("orders", 0);
    private final String withLogin;
    private final String user;

    private SecuredUsers(String withLogin, String user) {
        this.withLogin = withLogin;
        this.user = user;
    }

    public static void main(String[] addresses) {
        try {
            runAll(addresses);
            System.exit(0);
        } catch (Throwable failure) {
            failure.printStackTrace(); // Java's source launcher shows no failure of another thread
            System.exit(1);
        }
    }

    private static void runAll(String[] addresses) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", addresses[0]);
        try (Admin admin = Admin.create(settings)) {
            prepare(admin);
            SecuredUsers bob = new SecuredUsers(addresses[1], "bob");
            try (KafkaProducer<String, String> open = bob.withItsRights("shop")) {
                open.beginTransaction();
                open.send(new ProducerRecord<>("orders", "x")).get();
                bob.runAll();
                new SecuredUsers(addresses[1], "alice").runAll();
                SecuredUsers carol = new SecuredUsers(addresses[1], "carol"); // may describe orders
                carol.tell("describe producers", carol::describeProducers);
                carol.tell("describe the topic", carol::describeTopic);
                open.commitTransaction();
            }
            throttle(admin, addresses[1]);
        }
    }

    // Apache Kafka answers CreateAcls before its brokers know the rights.
    private KafkaProducer<String, String> withItsRights(String transactionalId) throws Exception {
        for (int attempt = 1; ; attempt++) {
            KafkaProducer<String, String> producer = producer(transactionalId);
            try {
                producer.initTransactions();
                return producer;
            } catch (AuthorizationException unknown) {
                producer.close();
                if (attempt == 100) {
                    throw unknown;
                }
                Thread.sleep(100);
            }
        }
    }

    private static void prepare(Admin admin) throws Exception {
        admin.createTopics(List.of(new NewTopic("orders", 1, (short) 1), new NewTopic("open", 1, (short) 1)))
            .all().get();
        List<AclBinding> rights = new ArrayList<>();
        for (AclOperation operation : List.of(AclOperation.READ, AclOperation.WRITE)) {
            rights.add(right("bob", ResourceType.TOPIC, "orders", operation));
            rights.add(right("*", ResourceType.TOPIC, "open", operation));
        }
        rights.add(right("carol", ResourceType.TOPIC, "orders", AclOperation.DESCRIBE));
        rights.add(right("bob", ResourceType.GROUP, "readers", AclOperation.READ));
        rights.add(right("bob", ResourceType.TRANSACTIONAL_ID, "shop", AclOperation.WRITE));
        rights.add(right("bob", ResourceType.TRANSACTIONAL_ID, "bob", AclOperation.WRITE));
        rights.add(right("alice", ResourceType.TRANSACTIONAL_ID, "alice", AclOperation.WRITE));
        admin.createAcls(rights).all().get();
    }

    private static AclBinding right(String user, ResourceType type, String name, AclOperation operation) {
        return new AclBinding(
            new ResourcePattern(type, name, PatternType.LITERAL),
            new AccessControlEntry("User:" + user, "*", operation, AclPermissionType.ALLOW));
    }

    private void runAll() {
        tell("write", this::write);
        tell("read without a group", () -> read("orders", null));
        tell("read in a group", () -> read("open", "readers"));
        tell("begin with a transactional id", () -> begin(user.equals("bob") ? "bob" : "shop"));
        tell("write in a transaction", () -> inTransaction(false));
        tell("send offsets in a transaction", () -> inTransaction(true));
        tell("describe the transaction", this::describeTransaction);
        tell("list transactions", this::listTransactions);
        tell("describe producers", this::describeProducers);
        tell("describe the topic", this::describeTopic);
        tell("create a topic", () -> {
            try (Admin admin = Admin.create(settings())) {
                admin.createTopics(List.of(new NewTopic("of-" + user, 1, (short) 1))).all().get();
            }
            return "ok";
        });
    }

    private void tell(String action, Callable<String> run) {
        String outcome;
        try {
            outcome = run.call();
        } catch (Exception failure) {
            Throwable cause = failure instanceof ExecutionException ? failure.getCause() : failure;
            outcome = cause.getClass().getSimpleName() + ": " + cause.getMessage();
        }
        System.out.println(user + "\t" + action + "\t" + outcome);
    }

    private String write() throws Exception {
        try (KafkaProducer<String, String> producer = producer(null)) {
            producer.send(new ProducerRecord<>("orders", "x")).get();
            return "ok";
        }
    }

    private String read(String topic, String group) throws Exception {
        Properties settings = settings();
        settings.put("auto.offset.reset", "earliest");
        settings.put("key.deserializer", CODECS + "Deserializer");
        settings.put("value.deserializer", CODECS + "Deserializer");
        if (group != null) {
            settings.put("group.id", group);
        }
        try (KafkaProducer<String, String> producer = producer(null);
                KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
            if (topic.equals("open")) {
                producer.send(new ProducerRecord<>(topic, "x")).get();
            }
            if (group == null) {
                consumer.assign(List.of(new TopicPartition(topic, 0)));
            } else {
                consumer.subscribe(List.of(topic));
            }
            for (int i = 0; i < 100; i++) {
                if (!consumer.poll(Duration.ofMillis(200)).isEmpty()) {
                    return "ok";
                }
            }
            return "nothing";
        }
    }

    private String begin(String transactionalId) {
        try (KafkaProducer<String, String> producer = producer(transactionalId)) {
            producer.initTransactions();
            return "ok";
        }
    }

    private String inTransaction(boolean withOffsets) throws Exception {
        KafkaProducer<String, String> producer = producer(user);
        try {
            producer.initTransactions();
            producer.beginTransaction();
            if (withOffsets) {
                producer.sendOffsetsToTransaction(
                    Map.of(new TopicPartition("open", 0), new OffsetAndMetadata(1)),
                    new ConsumerGroupMetadata("readers"));
            } else {
                producer.send(new ProducerRecord<>("orders", "x")).get();
            }
            producer.commitTransaction();
            return "ok";
        } catch (Exception failure) {
            producer.abortTransaction(); // a close alone may wait for 30 s
            throw failure;
        } finally {
            producer.close();
        }
    }

    private String describeTransaction() throws Exception {
        try (Admin admin = Admin.create(settings())) {
            return admin.describeTransactions(List.of("shop")).description("shop").get().state().toString();
        }
    }

    private String listTransactions() throws Exception {
        try (Admin admin = Admin.create(settings())) {
            return admin.listTransactions().all().get().stream()
                .map(each -> each.transactionalId()).sorted().toList().toString();
        }
    }

    private String describeProducers() throws Exception {
        try (Admin admin = Admin.create(settings())) {
            List<ProducerState> found = admin.describeProducers(List.of(ORDERS)).partitionResult(ORDERS).get()
                .activeProducers();
            long open = found.stream().filter(each -> each.currentTransactionStartOffset().isPresent()).count();
            return open + " open";
        }
    }

    private String describeTopic() throws Exception {
        try (Admin admin = Admin.create(settings())) {
            return admin.describeTopics(List.of("orders")).allTopicNames().get().keySet().toString();
        }
    }

    // A quota of alice holds up alice alone.
    private static void throttle(Admin admin, String withLogin) throws Exception {
        ClientQuotaEntity alice = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, "alice"));
        for (String quota : List.of("producer_byte_rate", "consumer_byte_rate")) {
            ClientQuotaAlteration.Op limit = new ClientQuotaAlteration.Op(quota, 4000.0);
            admin.alterClientQuotas(List.of(new ClientQuotaAlteration(alice, List.of(limit)))).all().get();
            for (String user : List.of("alice", "bob")) {
                SecuredUsers each = new SecuredUsers(withLogin, user);
                each.tell(quota, () -> each.throttled(quota));
            }
            ClientQuotaAlteration.Op none = new ClientQuotaAlteration.Op(quota, null);
            admin.alterClientQuotas(List.of(new ClientQuotaAlteration(alice, List.of(none)))).all().get();
        }
    }

    private String throttled(String quota) throws Exception {
        boolean isWritten = quota.startsWith("producer");
        Properties settings = settings();
        settings.put("key.deserializer", CODECS + "Deserializer");
        settings.put("value.deserializer", CODECS + "Deserializer");
        settings.put("auto.offset.reset", "earliest");
        TopicPartition open = new TopicPartition("open", 0);
        try (KafkaProducer<String, String> producer = producer(null);
                KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
            if (isWritten) {
                producer.send(new ProducerRecord<>("open", "x".repeat(12_000))).get();
                return "throttled: " + (worst(producer.metrics(), "produce-throttle-time-max") > 0);
            }
            consumer.assign(List.of(open));
            double worst = 0;
            for (int i = 0; i < 10 && worst == 0; i++) {
                consumer.seekToBeginning(List.of(open));
                consumer.poll(Duration.ofMillis(500));
                worst = worst(consumer.metrics(), "fetch-throttle-time-max");
            }
            return "throttled: " + (worst > 0);
        }
    }

    private static double worst(Map<?, ? extends org.apache.kafka.common.Metric> metrics, String name) {
        return metrics.values().stream().filter(each -> each.metricName().name().equals(name))
            .mapToDouble(each -> (Double) each.metricValue()).filter(each -> !Double.isNaN(each)).max().orElse(0);
    }

    private KafkaProducer<String, String> producer(String transactionalId) {
        Properties settings = settings();
        settings.put("key.serializer", CODECS + "Serializer");
        settings.put("value.serializer", CODECS + "Serializer");
        if (transactionalId != null) {
            settings.put("transactional.id", transactionalId);
        }
        return new KafkaProducer<>(settings);
    }

    private Properties settings() {
        Properties found = new Properties();
        found.put("bootstrap.servers", withLogin);
        found.put("security.protocol", "SASL_PLAINTEXT");
        found.put("sasl.mechanism", "PLAIN");
        found.put("sasl.jaas.config", "org.apache.kafka.common.security.plain.PlainLoginModule required username=\""
            + user + "\" password=\"" + user + "\";");
        return found;
    }
}
