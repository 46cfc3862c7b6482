import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.TopicPartition;

/** Deletes the first two records of a partition. */
public class DeleteRecords {
    public static void main(String[] arguments) throws InterruptedException {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", System.getenv("KAFKA_BOOTSTRAP_SERVERS"),
                "client.id", "museum");
        var place = new TopicPartition("museum", 0);
        try (Admin admin = Admin.create(settings)) {
            var deleted = admin.deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(2)));
            var low = deleted.lowWatermarks().get(place).get().lowWatermark();
            System.out.println("seen: begins " + low);
        } catch (ExecutionException failed) {
            System.out.println("seen: failed " + failed.getCause().getClass().getSimpleName());
        }
    }
}
