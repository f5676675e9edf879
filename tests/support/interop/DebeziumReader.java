import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.debezium.transforms.ExtractNewRecordState;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Reads messages as a sink of Kafka Connect does: Kafka's JsonConverter, then Debezium's ExtractNewRecordState.
 *
 * <p>A line in: {"schemas": whether messages have schemas, "messages": [[key in base64 or null, value in base64], ...]}. A
 * line out: {"records": [...]}, with key, value as converted and, of rows, the flattened row; each value of a Struct is
 * [type of its schema, logical name or null, text or null]. {"refused": index, "error": text} for what is not accepted.
 */
public final class DebeziumReader {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        var out = new PrintStream(System.out, true, "UTF-8");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }

    private static Map<String, Object> answer(JsonNode request) {
        String schemas = request.get("schemas").asText();
        JsonConverter keys = new JsonConverter();
        JsonConverter values = new JsonConverter();
        keys.configure(Map.of("schemas.enable", schemas), true);
        values.configure(Map.of("schemas.enable", schemas), false);
        ExtractNewRecordState<SourceRecord> extract = new ExtractNewRecordState<>();
        extract.configure(Map.of("delete.tombstone.handling.mode", "rewrite"));
        List<Object> records = new ArrayList<>();
        JsonNode messages = request.get("messages");
        for (int index = 0; index < messages.size(); index++) {
            try {
                SchemaAndValue key = keys.toConnectData("t", bytes(messages.get(index).get(0)));
                SchemaAndValue value = values.toConnectData("t", bytes(messages.get(index).get(1)));
                Map<String, Object> record = new LinkedHashMap<>();
                record.put("key", shown(key.schema(), key.value()));
                record.put("value", shown(value.schema(), value.value()));
                SourceRecord source = new SourceRecord(
                    Map.of(), Map.of(), "t", key.schema(), key.value(), value.schema(), value.value());
                SourceRecord row = extract.apply(source);
                record.put("row", row == null ? null : shown(row.valueSchema(), row.value()));
                records.add(record);
            } catch (Exception error) {
                return Map.of("refused", index, "error", String.valueOf(error));
            }
        }
        extract.close();
        return Map.of("records", records);
    }

    private static byte[] bytes(JsonNode text) {
        return text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }

    private static Object shown(Schema schema, Object value) {
        if (value instanceof Struct struct) {
            Map<String, Object> fields = new LinkedHashMap<>();
            for (Field field : struct.schema().fields()) {
                fields.put(field.name(), shown(field.schema(), struct.get(field)));
            }
            return fields;
        }
        String text = value == null ? null : value instanceof ByteBuffer buffer
            ? Base64.getEncoder().encodeToString(buffer.array())
            : value instanceof byte[] array ? Base64.getEncoder().encodeToString(array) : value.toString();
        List<String> cell = new ArrayList<>();
        cell.add(schema == null ? null : schema.type().toString());
        cell.add(schema == null ? null : schema.name());
        cell.add(text);
        return cell;
    }
}
