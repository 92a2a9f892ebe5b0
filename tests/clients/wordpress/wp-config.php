<?php
// WordPress's configuration for a run of wordpress_site.py, from its environment.
define('ABSPATH', getenv('WORDPRESS_CODE') . '/');
define('WP_HOME', getenv('WORDPRESS_URL'));
define('WP_SITEURL', getenv('WORDPRESS_URL'));
define('WP_CONTENT_DIR', getenv('WORDPRESS_CONTENT'));
define('DB_NAME', getenv('WEIR_TEST_DATABASE'));
define('DB_USER', getenv('WEIR_TEST_USER'));
define('DB_PASSWORD', getenv('WEIR_TEST_PASSWORD'));
define('DB_HOST', getenv('WEIR_TEST_HOST') . ':' . getenv('WEIR_TEST_PORT'));
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
if (getenv('WEIR_TEST_TLS') === '1') {
    define('MYSQL_CLIENT_FLAGS', MYSQLI_CLIENT_SSL | MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT);
}
foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'] as $key) {
    define($key, "$key of the tests only");
}
// No mail, no news from elsewhere, no requests to itself; all errors go to a file.
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_DEFAULT_THEME', basename(dirname(glob(getenv('WORDPRESS_CODE') . '/wp-content/themes/*/style.css')[0])));
define('WP_DEBUG', true);
define('WP_DEBUG_DISPLAY', false);
define('WP_DEBUG_LOG', getenv('WORDPRESS_LOG'));
$table_prefix = 'wp_';
require_once ABSPATH . 'wp-settings.php';
