//! Browser, system and device from a user agent, in Umami's words, behind a bounded cache; and who is a bot.
