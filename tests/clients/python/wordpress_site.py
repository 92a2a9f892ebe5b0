"""WordPress as a site's owner and visitors use it, over HTTP, in PHP's own web server: installation, login, posts, search,
comments, uploads, users, settings, revisions. `scripts/install-deps --test` unpacks WordPress.

WORDPRESS is the folder of its code."""

import http.cookiejar
import json
import os
import pathlib
import re
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from checks import SCRATCH, check, fail

CODE = os.environ["WORDPRESS"]
SOURCES = pathlib.Path(__file__).parent.parent / "wordpress"
LOG = SCRATCH / "debug.log"
# The smallest picture there is: one pixel.
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c020000000b4944415478da6364f80f00010501012718e366"
    "0000000049454e44ae426082"
)


class Server:
    """PHP's web server with WordPress, on a port of its own."""

    def __init__(self):
        content = SCRATCH / "wp-content"
        (content / "uploads").mkdir(parents=True)
        for folder in ("themes", "plugins"):
            (content / folder).symlink_to(pathlib.Path(CODE) / "wp-content" / folder)
        (content / "mu-plugins").symlink_to(SOURCES / "mu-plugins")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        told = {
            "WORDPRESS_CONFIG": SOURCES / "wp-config.php",
            "WORDPRESS_CODE": CODE,
            "WORDPRESS_CONTENT": content,
            "WORDPRESS_LOG": LOG,
            "WORDPRESS_URL": self.url,
        }
        # It ends with this program, however that ends.
        command = ["setpriv", "--pdeathsig", "TERM", "php", "-d", "sendmail_path=/bin/true", "-d", "opcache.enable_cli=1"]
        command += ["-S", f"127.0.0.1:{self.port}", "-t", CODE, str(SOURCES / "router.php")]
        environment = os.environ | {name: str(value) for name, value in told.items()}
        with open(SCRATCH / "php.log", "wb") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    fail(f"PHP's web server does not start: {(SCRATCH / 'php.log').read_text(errors='replace')}")
                time.sleep(0.05)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Visitor:
    """A browser, as far as this site is concerned: cookies, forms, redirects."""

    def __init__(self, url):
        self.url = url
        self.nonce = None
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def request(self, path, data=None, headers=None, method=None):
        """Status and body of an answer, after its redirects."""
        request = urllib.request.Request(self.url + path, data=data, headers=headers or {}, method=method)
        try:
            with self.opener.open(request, timeout=120) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def page(self, path, form=None, status=200):
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        got, body = self.request(path, data)
        check(f"status of {path} ({body[-500:]!r})" if got != status else path, got, status)
        return body.decode()

    def login(self, user, password):
        self.page("/wp-login.php")
        form = {"log": user, "pwd": password, "wp-submit": "Log In", "redirect_to": self.url + "/wp-admin/", "testcookie": "1"}
        page = self.page("/wp-login.php", form)
        if 'id="wpadminbar"' in page:
            self.nonce = self.page("/wp-admin/admin-ajax.php?action=rest-nonce")
        return page

    def api(self, path, content=None, method=None, headers=None, status=(200, 201)):
        """The interface that WordPress's own editor uses."""
        if isinstance(content, dict):
            content, headers = json.dumps(content).encode(), {"Content-Type": "application/json"}
        route = urllib.parse.quote(path.split("?")[0])
        query = "&" + path.split("?")[1] if "?" in path else ""
        got, body = self.request(f"/index.php?rest_route={route}{query}", content, {**(headers or {}), "X-WP-Nonce": self.nonce or ""}, method)
        check(f"status of {path} {got} ({body[:500]!r})" if got not in status else path, got in status, True)
        return json.loads(body)


def contains(what, page, *parts):
    for part in parts:
        if part not in page:
            text = re.sub(r"<[^>]*>|\s+", " ", page)
            fail(f"{what}: {part!r} expected in {text[-1500:]!r}")


def install(visitor):
    contains("before the installation", visitor.page("/wp-admin/install.php?step=1"), "Information needed")
    form = {"weblog_title": "Weir's site ü", "user_name": "owner", "admin_password": "a long secret", "language": ""}
    form |= {"admin_password2": "a long secret", "pw_weak": "1", "admin_email": "owner@example.org", "blog_public": "0"}
    contains("the installation", visitor.page("/wp-admin/install.php?step=2", form), "Success!")
    contains("twice", visitor.page("/wp-admin/install.php?step=1"), "Already Installed")
    contains("the first page", visitor.page("/"), "Weir&#039;s site ü", "Hello world!")


def posts(owner, reader):
    category = owner.api("/wp/v2/categories", {"name": "Rivers"})
    tags = [owner.api("/wp/v2/tags", {"name": name})["id"] for name in ("fish", "日本")]
    written = {
        "title": "About weirs 😀",
        "content": "<p>A weir is a low dam: it's \\ \"quoted\", 100% 東京 😀.</p>" + "<p>Long text.</p>" * 2_000,
        "status": "publish",
        "categories": [category["id"]],
        "tags": tags,
    }
    post = owner.api("/wp/v2/posts", written)
    page = reader.page(f"/?p={post['id']}")
    contains("a post", page, "About weirs 😀", "is a low dam: it&#8217;s \\", "東京 😀", "Rivers", "fish", "日本")
    contains("the category", reader.page(f"/?cat={category['id']}"), "About weirs")
    owner.api("/wp/v2/posts", {"title": "A draft", "content": "hidden dam", "status": "draft"})
    for number in range(12):
        owner.api("/wp/v2/posts", {"title": f"Number {number}", "content": "one of many", "status": "publish"})
    contains("the second page", reader.page("/?paged=2"), "About weirs")
    found = reader.page("/?s=" + urllib.parse.quote("low dam"))
    contains("a search", found, "About weirs")
    check("the draft is hidden", "A draft" in found, False)
    contains("a search for an emoji", reader.page("/?s=" + urllib.parse.quote("東京 😀")), "About weirs")
    contains("a search in vain", reader.page("/?s=nothing-like-this"), "nothing matched")
    owner.api(f"/wp/v2/posts/{post['id']}", {"content": "A weir, changed."})
    contains("the changed post", reader.page(f"/?p={post['id']}"), "A weir, changed.")
    check("revisions", len(owner.api(f"/wp/v2/posts/{post['id']}/revisions")) >= 1, True)
    contains("the feed", reader.page("/?feed=rss2"), "<title>Number 11</title>")
    return post["id"]


def comments(owner, reader, post):
    form = {"comment_post_ID": post, "comment_parent": "0", "author": "Ann Ö", "email": "ann@example.org", "url": ""}
    reader.page("/wp-comments-post.php", {**form, "comment": "First! 😀 it's"})
    waiting = owner.api("/wp/v2/comments?status=hold")
    check("a visitor's comment waits", [one["author_name"] for one in waiting], ["Ann Ö"])
    owner.api(f"/wp/v2/comments/{waiting[0]['id']}", {"status": "approved"})
    contains("the comment", Visitor(reader.url).page(f"/?p={post}"), "First! 😀 it&#8217;s", "Ann Ö")
    twice, body = reader.request("/wp-comments-post.php", urllib.parse.urlencode({**form, "comment": "First! 😀 it's"}).encode())
    check("a comment for the second time", (twice, b"Duplicate comment" in body), (409, True))
    reply = {"comment_post_ID": post, "comment_parent": waiting[0]["id"], "comment": "Second, by the owner"}
    contains("the owner's own", owner.page("/wp-comments-post.php", reply), "Second, by the owner")


def uploads(owner, reader):
    headers = {"Content-Type": "image/png", "Content-Disposition": 'attachment; filename="pixel.png"'}
    media = owner.api("/wp/v2/media", PICTURE, headers=headers)
    status, body = reader.request(urllib.parse.urlparse(media["source_url"]).path)
    check("the picture comes back", (status, body), (200, PICTURE))


def users_and_settings(owner, reader):
    user = {"username": "writer", "email": "w@example.org", "password": "another secret", "roles": ["author"]}
    made = owner.api("/wp/v2/users", user)
    check("its name is taken", owner.api("/wp/v2/users", user, status=(400, 500))["code"], "existing_user_login")
    writer = Visitor(owner.url)
    contains("a wrong password", writer.login("writer", "wrong"), "is incorrect")
    contains("the writer", writer.login("writer", "another secret"), "Dashboard")
    refused = writer.api("/wp/v2/settings", {"title": "mine"}, status=(401, 403))
    check("what only the owner may", refused["code"], "rest_forbidden")
    post = writer.api("/wp/v2/posts", {"title": "By the writer", "content": "x", "status": "publish"})
    owner.api("/wp/v2/settings", {"title": "Renamed", "posts_per_page": 3})
    contains("the new title", reader.page("/"), "Renamed", "By the writer")
    owner.api(f"/wp/v2/users/{made['id']}?force=true&reassign=1", method="DELETE")
    check("inherited", owner.api(f"/wp/v2/posts/{post['id']}")["author"], 1)
    owner.api(f"/wp/v2/posts/{post['id']}?force=true", method="DELETE")
    reader.page(f"/?p={post['id']}", status=404)


def administration(owner):
    pages = {"index.php": "At a Glance", "edit.php": "Posts", "edit-comments.php": "Comments", "upload.php": "Media Library"}
    pages |= {"users.php": "Users", "options-general.php": "General Settings", "export.php": "Export", "edit.php?s=weir": "About"}
    for page, part in pages.items():
        contains(page, owner.page(f"/wp-admin/{page}"), part)
    contains("an export", owner.page("/wp-admin/export.php?download=true&content=all"), "A weir, changed.", "</rss>")


def main():
    server = Server()
    try:
        owner, reader = Visitor(server.url), Visitor(server.url)
        install(owner)
        contains("the dashboard", owner.login("owner", "a long secret"), "Dashboard")
        post = posts(owner, reader)
        comments(owner, reader, post)
        uploads(owner, reader)
        users_and_settings(owner, reader)
        administration(owner)
    finally:
        server.stop()
    logged = LOG.read_text(errors="replace") if LOG.exists() else ""
    check("errors of the database", [line for line in logged.splitlines() if "database error" in line], [])


main()
