import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.DirectoryResourceAccessor;
import liquibase.snapshot.DatabaseSnapshot;
import liquibase.snapshot.SnapshotControl;
import liquibase.snapshot.SnapshotGeneratorFactory;
import liquibase.structure.core.Column;
import liquibase.structure.core.ForeignKey;
import liquibase.structure.core.Index;
import liquibase.structure.core.PrimaryKey;
import liquibase.structure.core.Table;
import liquibase.structure.core.UniqueConstraint;
import liquibase.structure.core.View;
import org.flywaydb.core.Flyway;

/** Plays a small application on the JDBC URL of each line of its input, and answers with a JSON list of texts. */
public final class JdbcClient {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // Liquibase prints there
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String url = line.substring(1, line.length() - 1);
            List<String> answers = new ArrayList<>();
            try {
                if (url.startsWith("flyway ")) {
                    migrate(url.substring(7), answers);
                } else if (url.startsWith("liquibase ")) {
                    String[] words = url.split(" ");
                    update(words[1], Path.of(words[2]), answers);
                } else {
                    play(url, answers);
                }
            } catch (Exception error) {
                answers.add(error.toString());
            }
            StringBuilder json = new StringBuilder("[");
            for (String answer : answers) {
                json.append(json.length() > 1 ? "," : "").append('"');
                json.append(answer.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n")).append('"');
            }
            out.println(json.append("]"));
            out.flush();
        }
    }

    private static void play(String url, List<String> answers) throws Exception {
        try (Connection connection = DriverManager.getConnection(url)) {
            try (Statement statement = connection.createStatement()) {
                statement.execute(
                        "CREATE TABLE part (id BIGINT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40) UNIQUE, price DECIMAL(10,2),"
                                + " made DATETIME(3), day DATE, data BLOB, big BIGINT UNSIGNED, ratio DOUBLE, ok BOOLEAN)");
            }
            connection.setAutoCommit(false);
            String insert = "INSERT INTO part (name, price, made, day, data, big, ratio, ok) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
            try (PreparedStatement prepared = connection.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
                for (int number = 1; number <= 3; number++) {
                    prepared.setString(1, "part " + number + " 'ä'");
                    prepared.setBigDecimal(2, new BigDecimal("12.50").add(BigDecimal.valueOf(number)));
                    prepared.setTimestamp(3, Timestamp.valueOf("2024-02-29 01:02:03.25"));
                    prepared.setDate(4, Date.valueOf("1969-12-31"));
                    prepared.setBytes(5, new byte[] {0, (byte) 0xFF, 39, 92, (byte) number});
                    prepared.setString(6, "18446744073709551615");
                    prepared.setDouble(7, -0.1 * number);
                    if (number == 3) {
                        prepared.setNull(8, Types.BOOLEAN);
                    } else {
                        prepared.setBoolean(8, number == 1);
                    }
                    answers.add("inserted " + prepared.executeUpdate());
                    try (ResultSet keys = prepared.getGeneratedKeys()) {
                        keys.next();
                        answers.add("key " + keys.getLong(1));
                    }
                }
            }
            connection.commit();
            try (PreparedStatement prepared = connection.prepareStatement("SELECT * FROM part WHERE id >= ? ORDER BY id")) {
                prepared.setLong(1, 2);
                try (ResultSet rows = prepared.executeQuery()) {
                    while (rows.next()) {
                        answers.add(rows.getString("name") + "|" + rows.getBigDecimal("price") + "|" + rows.getTimestamp("made")
                                + "|" + rows.getDate("day") + "|" + rows.getBytes("data").length + "|" + rows.getObject("big")
                                + "|" + rows.getDouble("ratio") + "|" + rows.getObject("ok"));
                    }
                }
            }
            try (Statement statement = connection.createStatement()) {
                statement.executeUpdate("UPDATE part SET price = price + 1 WHERE id = 1");
                statement.executeUpdate("DELETE FROM part WHERE id = 2");
                try {
                    statement.executeUpdate("INSERT INTO part (name) VALUES ('part 3 ''ä''')");
                } catch (SQLException error) {
                    answers.add(error.getErrorCode() + " " + error.getSQLState() + " " + error.getMessage());
                }
                connection.rollback();
                statement.executeUpdate("DELETE FROM part WHERE id = 1");
                connection.commit();
            }
            try (ResultSet columns = connection.getMetaData().getColumns(connection.getCatalog(), null, "part", "%")) {
                StringBuilder names = new StringBuilder();
                while (columns.next()) {
                    names.append(columns.getString("COLUMN_NAME")).append(' ').append(columns.getString("TYPE_NAME")).append(',');
                }
                answers.add(names.toString());
            }
        }
    }

    private static void migrate(String url, List<String> answers) throws Exception {
        Path directory = Files.createTempDirectory("migrations");
        Path first = directory.resolve("V1__account.sql");
        Path second = directory.resolve("V2__email.sql");
        Files.writeString(first, "CREATE TABLE account (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL);\nINSERT INTO account VALUES (1, 'ann'), (2, 'bob');\n");
        Files.writeString(second, "ALTER TABLE account ADD COLUMN email VARCHAR(50) DEFAULT 'none';\nUPDATE account SET email = 'a@b' WHERE id = 1;\n");
        Flyway flyway = Flyway.configure().dataSource(url, "root", "").locations("filesystem:" + directory).load();
        answers.add("migrated " + flyway.migrate().migrationsExecuted);
        answers.add("again " + flyway.migrate().migrationsExecuted);
        flyway.validate();
        Files.delete(first);
        Files.delete(second);
        Files.delete(directory);
    }

    private static void update(String url, Path directory, List<String> answers) throws Exception {
        try (Connection connection = DriverManager.getConnection(url, "root", "")) {
            Database database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(connection));
            Liquibase liquibase = new Liquibase("changelog.xml", new DirectoryResourceAccessor(directory), database);
            Contexts all = new Contexts();
            LabelExpression labels = new LabelExpression();
            answers.add("before " + liquibase.listUnrunChangeSets(all, labels).size());
            liquibase.update(all, labels);
            answers.add("after " + liquibase.listUnrunChangeSets(all, labels).size());
            liquibase.rollback(2, null, all, labels);
            answers.add("rolled back " + liquibase.listUnrunChangeSets(all, labels).size());
            liquibase.update(all, labels);
            liquibase.validate();
            answers.add("again " + liquibase.listUnrunChangeSets(all, labels).size());
            DatabaseSnapshot snapshot = SnapshotGeneratorFactory.getInstance()
                    .createSnapshot(database.getDefaultSchema(), database, new SnapshotControl(database));
            answers.add(Stream.of(Table.class, View.class, Column.class, PrimaryKey.class, ForeignKey.class, Index.class,
                            UniqueConstraint.class)
                    .map(kind -> kind.getSimpleName() + " " + snapshot.get(kind).size())
                    .collect(Collectors.joining(", ")));
        }
    }
}
