import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.Stores;

/**
 * Counts words with Kafka Streams, exactly once: BOOTSTRAP APPLICATION_ID DIRECTORY FROM TO HALT_AT,
 * and further settings as NAME=VALUE.
 *
 * Words go over a repartition topic, and their counts lie in memory with a changelog. Each new count
 * of a word is a record. It runs until its standard input ends, or falls over with a count of HALT_AT.
 */
public class Words {
    public static void main(String[] given) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", given[0]);
        settings.put("application.id", given[1]);
        settings.put("state.dir", given[2]);
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("num.stream.threads", 2);
        settings.put("commit.interval.ms", 100);
        settings.put("statestore.cache.max.bytes", 0);
        settings.put("repartition.purge.interval.ms", 500);
        settings.put("default.key.serde", Serdes.StringSerde.class);
        settings.put("default.value.serde", Serdes.StringSerde.class);
        settings.put("consumer.auto.offset.reset", "earliest");
        // The open transaction of who is killed ends soon.
        settings.put("producer.transaction.timeout.ms", 2000);
        for (int i = 6; i < given.length; i++) {
            String[] setting = given[i].split("=", 2);
            settings.put(setting[0], setting[1]);
        }

        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(given[3])
            .flatMapValues(line -> List.of(line.split(" ")))
            .groupBy((key, word) -> word)
            .count(Materialized.as(Stores.inMemoryKeyValueStore("counts")))
            .toStream()
            .peek((word, count) -> haltAt(count, Long.parseLong(given[5])))
            .mapValues(String::valueOf)
            .to(given[4]);
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.start();
        while (System.in.read() >= 0) {}
        streams.close(Duration.ofSeconds(20));
    }

    /** As SIGKILL would: in the middle of a transaction, whose records are on their way. */
    private static void haltAt(long count, long last) {
        if (count == last) Runtime.getRuntime().halt(137);
    }
}
