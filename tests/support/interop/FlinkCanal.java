import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.functions.util.ListCollector;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.connector.format.DecodingFormat;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.conversion.DataStructureConverter;
import org.apache.flink.table.data.conversion.DataStructureConverters;
import org.apache.flink.table.factories.DeserializationFormatFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.runtime.connector.source.ScanRuntimeProviderContext;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;
import org.apache.flink.table.types.utils.TypeConversions;
import org.apache.flink.types.Row;

/**
 * Reads messages with one of Apache Flink's JSON formats, as a table that has it would, without a cluster.
 *
 * <p>A line in: {"format": "canal-json", "columns": [[name, SQL type], ...], "options": {option of the format: value}, "messages": [base64, ...]}.
 * A line out: {"rows": [[kind of the change, value or null, ...], ...]}, or {"refused": index of the message, "error":
 * text}, the index being -1 where the table itself is refused. Values are texts; a TIMESTAMP always has nine digits after the point.
 */
public final class FlinkCanal {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ClassLoader LOADER = FlinkCanal.class.getClassLoader();
    private static final DateTimeFormatter NANOSECONDS = DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSSSSS");

    public static void main(String[] arguments) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        var out = new PrintStream(System.out, true, "UTF-8");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> answer;
            try {
                answer = answer(JSON.readTree(line));
            } catch (Exception error) {
                answer = Map.of("refused", -1, "error", causes(error));
            }
            out.println(JSON.writeValueAsString(answer));
        }
    }

    private static Map<String, Object> answer(JsonNode request) throws Exception {
        DataType table = table(request.get("columns"));
        DataStructureConverter<Object, Object> converter = DataStructureConverters.getConverter(table);
        converter.open(LOADER);
        DeserializationSchema<RowData> schema = schema(table, request);
        List<List<String>> rows = new ArrayList<>();
        JsonNode messages = request.get("messages");
        for (int index = 0; index < messages.size(); index++) {
            List<RowData> found = new ArrayList<>();
            try {
                schema.deserialize(Base64.getDecoder().decode(messages.get(index).asText()), new ListCollector<>(found));
            } catch (Exception error) {
                return Map.of("refused", index, "error", causes(error));
            }
            found.forEach(row -> rows.add(texts((Row) converter.toExternal(row))));
        }
        return Map.of("rows", rows);
    }

    private static DataType table(JsonNode columns) {
        List<DataTypes.Field> fields = new ArrayList<>();
        for (JsonNode column : columns) {
            var type = TypeConversions.fromLogicalToDataType(LogicalTypeParser.parse(column.get(1).asText(), LOADER));
            fields.add(DataTypes.FIELD(column.get(0).asText(), type));
        }
        return DataTypes.ROW(fields).notNull();
    }

    /** What `'format' = 'canal-json'` gives: the factory is found by that name and checks the options. */
    private static DeserializationSchema<RowData> schema(DataType table, JsonNode request) throws Exception {
        Map<String, String> said = new HashMap<>();
        request.get("options").properties().forEach(option -> said.put(option.getKey(), option.getValue().asText()));
        DecodingFormat<DeserializationSchema<RowData>> format =
                FactoryUtil.discoverFactory(LOADER, DeserializationFormatFactory.class, request.get("format").asText())
                        .createDecodingFormat(null, Configuration.fromMap(said));
        DeserializationSchema<RowData> schema =
                format.createRuntimeDecoder(ScanRuntimeProviderContext.INSTANCE, table);
        schema.open(null);
        return schema;
    }

    private static List<String> texts(Row row) {
        List<String> texts = new ArrayList<>(List.of(row.getKind().shortString()));
        for (int place = 0; place < row.getArity(); place++) {
            texts.add(text(row.getField(place)));
        }
        return texts;
    }

    private static String text(Object value) {
        if (value instanceof LocalDateTime moment) {
            return moment.format(NANOSECONDS);
        }
        return value instanceof BigDecimal number ? number.toPlainString() : value == null ? null : value.toString();
    }

    private static String causes(Throwable error) {
        return error.getCause() == null ? String.valueOf(error) : error + " <- " + causes(error.getCause());
    }
}
