/*!40014 SET FOREIGN_KEY_CHECKS=0*/;
/*!40101 SET NAMES binary*/;
CREATE TABLE `airport` (
  `icao` char(4) NOT NULL,
  `iata` char(3) DEFAULT NULL,
  `name` varchar(80) NOT NULL,
  `city` varchar(64) NOT NULL DEFAULT '',
  `subd` varchar(64) NOT NULL DEFAULT '' COMMENT 'state or province',
  `country` char(2) NOT NULL,
  `elevation` decimal(7,2) NOT NULL COMMENT 'feet',
  `lat` double NOT NULL,
  `lon` double NOT NULL,
  `tz` varchar(40) NOT NULL,
  `lid` varchar(8) DEFAULT NULL COMMENT 'local code',
  PRIMARY KEY (`icao`) /*T![clustered_index] CLUSTERED */,
  UNIQUE KEY `iata` (`iata`),
  KEY `country` (`country`,`subd`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
