"""Authors and books in Django's administration pages."""

from django.contrib import admin

from .models import Author, Book


@admin.register(Author)
class AuthorAdmin(admin.ModelAdmin):
    list_display = ["name", "rank", "joined"]
    list_filter = ["active"]
    search_fields = ["name", "books__title"]
    date_hierarchy = "joined"


admin.site.register(Book)
