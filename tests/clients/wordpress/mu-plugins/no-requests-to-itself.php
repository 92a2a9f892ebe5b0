<?php
// The installation asks its own site for a page, which PHP's web server can't answer while it is busy with the installation.
add_filter('block_local_requests', '__return_true');
