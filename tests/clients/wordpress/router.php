<?php
// For PHP's own web server: what is uploaded lies in a folder of the run, all else in WordPress's.
$path = rawurldecode(parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH));
if (!str_starts_with($path, '/wp-content/uploads/') || str_contains($path, '..')) {
    return false;
}
$file = getenv('WORDPRESS_CONTENT') . substr($path, strlen('/wp-content'));
if (is_file($file)) {
    header('Content-Type: ' . mime_content_type($file));
    readfile($file);
} else {
    http_response_code(404);
}
