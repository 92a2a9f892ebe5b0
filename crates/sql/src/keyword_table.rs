//! The table of keywords and built-in functions of MySQL and MariaDB.
//!
//! What must hold: a word that a server would look up as a stored function when followed by `(` is [`Call::User`] for that
//! server. The groups were made by asking MySQL 9.7 and MariaDB 10.11 themselves (error 1305 or 1630 means "no such stored
//! function", 1064 means that the word can't be called), for every keyword that they list and every name in their function
//! registries. `MD5`, `SHA` and `SHA1` count as built in on MySQL although 9.7 has moved them to a component: up to 9.6
//! nothing else can have these names. Functions that read session state which can't be replayed
//! (`PS_CURRENT_THREAD_ID`, `WSREP_LAST_WRITTEN_GTID`, …) are left out on purpose, so that they pin.

/// What a word means when a parenthesis follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Not a word of this server: it calls a stored or loadable function.
    User,
    /// A keyword with its own grammar, never a call of a stored function.
    Keyword,
    /// A built-in function that is a keyword: `IF(`, `LEFT (`.
    Syntax,
    /// A built-in function found by name, quoted or not, with or without a space.
    Native,
    /// A built-in function only when the parenthesis follows directly, or under `IGNORE_SPACE`.
    Adjacent,
}

/// Words that both servers treat alike.
pub(crate) struct Group {
    pub(crate) mariadb: Call,
    pub(crate) mysql: Call,
    /// Reserved on both servers, hence never the name of a table, and safe to fold.
    pub(crate) reserved: bool,
    pub(crate) words: &'static str,
}

/// Words that only MySQL 9.7 reserves: neither a column nor a table nor an alias behind AS can have such a name.
pub(crate) const RESERVED_BY_MYSQL: &str = "cube cume_dist database dense_rank empty external first_value function generated get grouping \
     groups io_after_gtids io_before_gtids json_table lag last_value lateral lead library nth_value \
     ntile of optimizer_costs option percent_rank qualify rank row schema stored system tablesample \
     virtual window";

/// Words that only MariaDB 10.11 reserves.
pub(crate) const RESERVED_BY_MARIADB: &str = "current_role delete_domain_id do_domain_ids ignore_domain_ids master_demote_to_replica \
     master_demote_to_slave master_ssl_verify_server_cert offset page_checksum parse_vcol_expr \
     portion ref_system_id returning stats_auto_recalc stats_persistent stats_sample_pages";

/// Every word once.
#[rustfmt::skip]
pub(crate) const GROUPS: &[Group] = &[
    Group {
        mariadb: Call::Adjacent,
        mysql: Call::Adjacent,
        reserved: false,
        words: "adddate bit_and bit_or bit_xor cast count curdate curtime date_add date_sub extract group_concat \
         json_arrayagg json_objectagg max mid min now position session_user std stddev stddev_pop stddev_samp \
         subdate substr substring sum system_user trim variance var_pop var_samp",
    },
    Group {
        mariadb: Call::Adjacent,
        mysql: Call::Keyword,
        reserved: false,
        words: "cume_dist dense_rank first_value lag lead nth_value ntile percent_rank rank",
    },
    Group {
        mariadb: Call::Adjacent,
        mysql: Call::Syntax,
        reserved: false,
        words: "point",
    },
    Group {
        mariadb: Call::Adjacent,
        mysql: Call::User,
        reserved: false,
        words: "median percentile_cont percentile_disc trim_oracle",
    },
    Group {
        mariadb: Call::Keyword,
        mysql: Call::Keyword,
        reserved: false,
        words: "any backup begin binlog bit bool boolean byte cache checksum close code comment commit compressed \
         datetime deallocate do end enum exclude execute fixed flush following follows function get \
         get_format global handler help host install json language local medium names national nchar no \
         number nvarchar offset open option options others owner parser port precedes preceding prepare \
         remove repair replica replicas reset restore returning role rollback savepoint security serial \
         server session shutdown signed slave socket some soname sounds start stats_auto_recalc \
         stats_persistent stats_sample_pages stop stored text ties timestampadd timestampdiff unbounded \
         unicode uninstall upgrade window wrapper xa",
    },
    Group {
        mariadb: Call::Keyword,
        mysql: Call::Keyword,
        reserved: true,
        words: "accessible add alter analyze and as asc asensitive before between bigint blob both by call cascade \
         case change check collate column condition constraint continue convert create cross cursor databases \
         day_hour day_microsecond day_minute day_second dec decimal declare delayed delete desc describe \
         deterministic div double drop dual each else elseif enclosed escaped except exists exit explain \
         false fetch float float4 float8 for force foreign from fulltext grant group having hour_microsecond \
         hour_minute hour_second ignore in index infile inner inout insensitive int int1 int2 int3 int4 int8 \
         integer intersect into is iterate join key keys kill leading leave like limit linear lines load lock \
         long longblob longtext loop low_priority match maxvalue mediumblob mediumint mediumtext middleint \
         minute_microsecond minute_second modifies natural no_write_to_binlog null numeric on optimize \
         optionally or order out outer outfile over partition precision primary procedure purge range read \
         reads read_write real recursive references regexp release rename require resignal restrict return \
         revoke rlike rows row_number schemas second_microsecond select sensitive separator set show signal \
         smallint spatial specific sql sqlexception sqlstate sqlwarning ssl starting table terminated then \
         tinyblob tinyint tinytext to trailing trigger true undo union unlock unsigned update usage use using \
         varbinary varchar varcharacter varying when where while with write xor year_month zerofill",
    },
    Group {
        mariadb: Call::Keyword,
        mysql: Call::Syntax,
        reserved: true,
        words: "values",
    },
    Group {
        mariadb: Call::Keyword,
        mysql: Call::User,
        reserved: false,
        words: "checkpoint clob column_get delete_domain_id do_domain_ids examined id ignored ignore_domain_ids \
         master_demote_to_replica master_demote_to_slave master_ssl_verify_server_cert page_checksum \
         parse_vcol_expr period portion raw ref_system_id setval slaves varchar2",
    },
    Group {
        mariadb: Call::Native,
        mysql: Call::Keyword,
        reserved: false,
        words: "contains json_value password srid",
    },
    Group {
        mariadb: Call::Native,
        mysql: Call::Native,
        reserved: false,
        words: "abs acos addtime aes_decrypt aes_encrypt asin atan atan2 benchmark bin bit_count bit_length ceil \
         ceiling character_length char_length coercibility compress concat concat_ws connection_id conv \
         convert_tz cos cot crc32 datediff date_format dayname dayofmonth dayofweek dayofyear degrees elt exp \
         export_set extractvalue field find_in_set floor found_rows from_base64 from_days from_unixtime \
         get_lock greatest hex ifnull inet6_aton inet6_ntoa inet_aton inet_ntoa instr isnull is_free_lock \
         is_ipv4 is_ipv4_compat is_ipv4_mapped is_ipv6 is_used_lock json_array json_array_append \
         json_array_insert json_contains json_contains_path json_depth json_extract json_insert json_keys \
         json_length json_merge json_merge_patch json_merge_preserve json_object json_overlaps json_pretty \
         json_quote json_remove json_replace json_search json_set json_type json_unquote json_valid last_day \
         last_insert_id lcase least length ln load_file locate log log10 log2 lower lpad ltrim makedate \
         maketime make_set master_pos_wait mbrcontains mbrdisjoint mbrequals mbrintersects mbroverlaps \
         mbrtouches mbrwithin md5 monthname name_const nullif oct octet_length ord period_add period_diff pi \
         pow power quote radians rand random_bytes regexp_instr regexp_replace regexp_substr \
         release_all_locks release_lock reverse round rpad rtrim sec_to_time sha sha1 sha2 sign sin sleep \
         soundex space sqrt strcmp str_to_date st_area st_asbinary st_asgeojson st_astext st_aswkb st_aswkt \
         st_buffer st_centroid st_contains st_convexhull st_crosses st_difference st_dimension st_disjoint \
         st_distance st_distance_sphere st_endpoint st_envelope st_equals st_exteriorring st_geomcollfromtext \
         st_geomcollfromwkb st_geometrycollectionfromtext st_geometrycollectionfromwkb st_geometryfromtext \
         st_geometryfromwkb st_geometryn st_geometrytype st_geomfromgeojson st_geomfromtext st_geomfromwkb \
         st_interiorringn st_intersection st_intersects st_isclosed st_isempty st_issimple st_length \
         st_linefromtext st_linefromwkb st_linestringfromtext st_linestringfromwkb st_mlinefromtext \
         st_mlinefromwkb st_mpointfromtext st_mpointfromwkb st_mpolyfromtext st_mpolyfromwkb \
         st_multilinestringfromtext st_multilinestringfromwkb st_multipointfromtext st_multipointfromwkb \
         st_multipolygonfromtext st_multipolygonfromwkb st_numgeometries st_numinteriorrings st_numpoints \
         st_overlaps st_pointfromtext st_pointfromwkb st_pointn st_polyfromtext st_polyfromwkb \
         st_polygonfromtext st_polygonfromwkb st_srid st_startpoint st_symdifference st_touches st_union \
         st_within st_x st_y substring_index subtime tan timediff time_format time_to_sec to_base64 to_days \
         to_seconds ucase uncompress uncompressed_length unhex unix_timestamp updatexml upper uuid uuid_short \
         version weekday weekofyear yearweek",
    },
    Group {
        mariadb: Call::Native,
        mysql: Call::Syntax,
        reserved: false,
        words: "coalesce collation database format geometrycollection linestring microsecond multilinestring \
         multipoint multipolygon polygon quarter row_count schema week",
    },
    Group {
        mariadb: Call::Native,
        mysql: Call::Syntax,
        reserved: true,
        words: "mod",
    },
    Group {
        mariadb: Call::Native,
        mysql: Call::User,
        reserved: false,
        words: "add_months area asbinary astext aswkb aswkt binlog_gtid_pos boundary buffer centroid chr \
         column_check column_exists column_json column_list concat_operator_oracle convexhull crc32c crosses \
         decode decode_histogram decode_oracle des_decrypt des_encrypt dimension disjoint encode encrypt \
         endpoint envelope equals exteriorring geomcollfromtext geomcollfromwkb geometrycollectionfromtext \
         geometrycollectionfromwkb geometryfromtext geometryfromwkb geometryn geometrytype geomfromtext \
         geomfromwkb glength interiorringn intersects isclosed isempty isring issimple json_compact \
         json_detailed json_equals json_exists json_loose json_normalize json_query lengthb linefromtext \
         linefromwkb linestringfromtext linestringfromwkb lpad_oracle ltrim_oracle master_gtid_wait mbrequal \
         mlinefromtext mlinefromwkb mpointfromtext mpointfromwkb mpolyfromtext mpolyfromwkb \
         multilinestringfromtext multilinestringfromwkb multipointfromtext multipointfromwkb \
         multipolygonfromtext multipolygonfromwkb natural_sort_key numgeometries numinteriorrings numpoints \
         nvl nvl2 old_password overlaps pointfromtext pointfromwkb pointn pointonsurface polyfromtext \
         polyfromwkb polygonfromtext polygonfromwkb replace_oracle rpad_oracle rtrim_oracle sformat \
         startpoint st_boundary st_isring st_pointonsurface st_relate substr_oracle sys_guid touches to_char \
         within wsrep_sync_wait_upto_gtid x y",
    },
    Group {
        mariadb: Call::Syntax,
        mysql: Call::Adjacent,
        reserved: false,
        words: "sysdate",
    },
    Group {
        mariadb: Call::Syntax,
        mysql: Call::Keyword,
        reserved: false,
        words: "last_value value",
    },
    Group {
        mariadb: Call::Syntax,
        mysql: Call::Keyword,
        reserved: true,
        words: "unique",
    },
    Group {
        mariadb: Call::Syntax,
        mysql: Call::Native,
        reserved: false,
        words: "current_role",
    },
    Group {
        mariadb: Call::Syntax,
        mysql: Call::Syntax,
        reserved: false,
        words: "ascii avg charset date day hour minute month row second sql_buffer_result sql_no_cache sql_tsi_day \
         sql_tsi_hour sql_tsi_minute sql_tsi_month sql_tsi_second sql_tsi_year time timestamp truncate user \
         weight_string year",
    },
    Group {
        mariadb: Call::Syntax,
        mysql: Call::Syntax,
        reserved: true,
        words: "all binary char character current_date current_time current_timestamp current_user default distinct \
         distinctrow high_priority if insert interval left localtime localtimestamp not repeat replace right \
         sql_big_result sql_calc_found_rows sql_small_result straight_join utc_date utc_time utc_timestamp",
    },
    Group {
        mariadb: Call::Syntax,
        mysql: Call::User,
        reserved: false,
        words: "column_add column_create column_delete lastval nextval rownum sql_cache",
    },
    Group {
        mariadb: Call::User,
        mysql: Call::Adjacent,
        reserved: false,
        words: "json_duality_object st_collect",
    },
    Group {
        mariadb: Call::User,
        mysql: Call::Keyword,
        reserved: false,
        words: "absent account action active admin after against aggregate algorithm allow_missing_files always \
         array assign_gtids_to_anonymous_transactions at attribute authentication auto autoextend_size \
         auto_increment auto_refresh auto_refresh_source avg_row_length bernoulli block btree buckets bulk \
         cascaded catalog_name chain challenge_response changed channel cipher class_origin client clone \
         columns column_format column_name committed compact completion component compression concurrent \
         connection consistent constraint_catalog constraint_name constraint_schema context cpu cube current \
         cursor_name data datafile default_auth definer definition delay_key_write description diagnostics \
         directory disable discard disk duality dumpfile duplicate dynamic empty enable encryption ends \
         enforced engine engines engine_attribute error errors escape event events every exchange expansion \
         expire export extended extent_size external external_format factor failed_login_attempts fast faults \
         fields file files file_block_size file_format file_name file_pattern file_prefix filter finish first \
         found full general generate generated geometry get_source_public_key grants groups group_replication \
         gtids gtid_only guided hash header histogram history hosts identified ignore_server_ids import \
         inactive indexes initial initial_size initiate insert_method instance invisible invoker io \
         io_after_gtids io_before_gtids io_thread ipc isolation issuer json_table keyring key_block_size last \
         lateral leaves less level library list locked locks logfile logs manual masking master materialized \
         max_connections_per_hour max_queries_per_hour max_rows max_size max_updates_per_hour \
         max_user_connections member memory merge message_text migrate min_rows mode modify mutex mysql_errno \
         name ndb ndbcluster nested network_namespace never new next nodegroup none nowait no_wait nulls of \
         off oj old one only optimizer_costs optional ordinality organization pack_keys page parallel \
         parameters parse_tree partial partitioning partitions password_lock_time path persist persist_only \
         phase plugin plugins plugin_dir policy preserve prev privileges privilege_checks_user process \
         processlist profile profiles proxy qualify query quick random read_only rebuild recover \
         redo_buffer_size redundant reference registration relational relay relaylog relay_log_file \
         relay_log_pos relay_thread reload reorganize repeatable replicate_do_db replicate_do_table \
         replicate_ignore_db replicate_ignore_table replicate_rewrite_db replicate_wild_do_table \
         replicate_wild_ignore_table replication require_row_format require_table_primary_key_check resource \
         respect restart resume retain returned_sqlstate returns reuse rollup rotate routine row_format rtree \
         s3 schedule schema_name secondary secondary_engine secondary_engine_attribute secondary_load \
         secondary_unload serializable sets share simple skip slow snapshot source source_auto_position \
         source_bind source_compression_algorithms source_connection_auto_failover source_connect_retry \
         source_delay source_heartbeat_period source_host source_log_file source_log_pos source_password \
         source_port source_public_key_path source_retry_count source_ssl source_ssl_ca source_ssl_capath \
         source_ssl_cert source_ssl_cipher source_ssl_crl source_ssl_crlpath source_ssl_key \
         source_ssl_verify_server_cert source_tls_ciphersuites source_tls_version source_user \
         source_zstd_compression_level sql_after_gtids sql_after_mts_gaps sql_before_gtids sql_thread stacked \
         starts status storage stream strict_load string subclass_origin subject subpartition subpartitions \
         super suspend swaps switches system tables tablesample tablespace table_checksum table_name \
         temporary temptable than thread_priority tls transaction triggers type types uncommitted undefined \
         undofile undo_buffer_size unknown unregister until uri url user_resources use_frm validate \
         validation variables vcpu vector verify_key_constraints view virtual visible wait warnings without \
         work x509 xid xml zone",
    },
    Group {
        mariadb: Call::User,
        mysql: Call::Native,
        reserved: false,
        words: "any_value bin_to_uuid format_bytes format_pico_time from_vector gtid_subset gtid_subtract icu_version is_uuid \
         json_schema_valid json_schema_validation_report json_storage_free json_storage_size mbrcoveredby \
         mbrcovers regexp_like roles_graphml source_pos_wait statement_digest statement_digest_text \
         string_to_vector st_buffer_strategy st_frechetdistance st_geohash st_geomcollfromtxt \
         st_hausdorffdistance st_isvalid st_latfromgeohash st_latitude st_lineinterpolatepoint \
         st_lineinterpolatepoints st_longfromgeohash st_longitude st_makeenvelope st_numinteriorring \
         st_pointatdistance st_pointfromgeohash st_simplify st_swapxy st_transform st_validate to_vector \
         uuid_to_bin validate_password_strength vector_dim vector_to_string wait_for_executed_gtid_set",
    },
    Group {
        mariadb: Call::User,
        mysql: Call::Syntax,
        reserved: false,
        words: "geomcollection grouping sql_tsi_quarter sql_tsi_week",
    },
    Group {
        mariadb: Call::User,
        mysql: Call::User,
        reserved: false,
        words: "analyse atomic autocommit batch body currval cycle dry error_count federated global_variables hard identity immediate \
         last_gtid max_statement_time minus monitor offline online package previous pseudo_thread_id public replay run sequence session_variables soft stage \
         statement statements system_time temp transaction_isolation transaction_read_only tx_isolation tx_read_only \
         user_variables user_variables_by_thread variables_by_thread variables_info via warning_count weir",
    },
];
