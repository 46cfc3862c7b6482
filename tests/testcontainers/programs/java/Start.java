import org.testcontainers.containers.GenericContainer;
import org.testcontainers.kafka.ConfluentKafkaContainer;
import org.testcontainers.kafka.KafkaContainer;
import org.testcontainers.utility.DockerImageName;

/** Starts the image by Java's module: `Start CALL IMAGE`; ends with standard input. */
public class Start {
    public static void main(String[] arguments) throws Exception {
        DockerImageName image = DockerImageName.parse(arguments[1]);
        GenericContainer<?> container;
        switch (arguments[0]) {
            case "KafkaContainer":
                container = new KafkaContainer(image.asCompatibleSubstituteFor("apache/kafka"));
                break;
            case "KafkaContainer of kafka-native":
                container = new KafkaContainer(image.asCompatibleSubstituteFor("apache/kafka-native"));
                break;
            case "ConfluentKafkaContainer":
                container = new ConfluentKafkaContainer(image.asCompatibleSubstituteFor("confluentinc/cp-kafka"));
                break;
            default:
                throw new IllegalArgumentException(arguments[0]);
        }
        container.start();
        String servers = container instanceof KafkaContainer
            ? ((KafkaContainer) container).getBootstrapServers()
            : ((ConfluentKafkaContainer) container).getBootstrapServers();
        System.out.println("BOOTSTRAP " + servers);
        System.out.flush();
        System.in.readAllBytes();
        container.stop();
    }
}
