// The tracker: page views, events and identities of one website, in Umami's attributes and calls.
// What must stay true: no cookie and no identifier is kept; nothing on the page breaks, whatever happens here; a page
// that closes loses nothing (keepalive, then a beacon); no preflight (plain text, the token travels in the body).
// Lines that start with // and leading blanks are dropped when it is served.
(w => {
const d = w.document, nav = w.navigator, loc = w.location, me = d.currentScript;
if (!me) return;
const attr = name => me.getAttribute('data-' + name);
const on = (target, type, run) => target.addEventListener(type, run, true);
const website = attr('website-id');
// The same tag twice on a page counts once.
const known = w.sumimiWebsites = w.sumimiWebsites || [];
if (known.includes(website)) return;
known.push(website);
const host = attr('host-url');
const endpoint = (host ? host.replace(/\/$/, '') : new URL('.', me.src).href.slice(0, -1)) + '__COLLECT__';
const domains = (attr('domains') || '').split(',').map(name => name.trim()).filter(name => name);
const clean = address => {
try {
const url = new URL(address, loc.href);
if (attr('exclude-search') === 'true') url.search = '';
if (attr('exclude-hash') === 'true') url.hash = '';
return url.href;
} catch { return address; }
};
let cache, identity, stopped, pending;
let current = clean(loc.href);
let referrer = d.referrer.startsWith(loc.origin + '/') ? '' : d.referrer;
const off = () => {
if (stopped || !website || domains.length && !domains.includes(loc.hostname)) return true;
if (attr('do-not-track') === 'true' && (nav.globalPrivacyControl || /^(1|yes)$/.test(nav.doNotTrack || w.doNotTrack))) return true;
try { return w.localStorage.getItem('umami.disabled') || w.localStorage.getItem('sumimi.disabled'); } catch {}
};
const about = () => ({
website, screen: w.screen.width + 'x' + w.screen.height, language: nav.language, title: d.title,
hostname: loc.hostname, url: current, referrer, tag: attr('tag') || undefined, id: identity
});
const send = async (payload, type = 'event') => {
const check = w[attr('before-send')];
if (off()) return;
if (typeof check === 'function') payload = await check(type, payload);
if (!payload) return;
const body = JSON.stringify({ type, payload, cache });
try {
const answer = await fetch(endpoint, { method: 'POST', body, keepalive: true, credentials: attr('fetch-credentials') || 'omit' });
const found = await answer.json();
if (found.disabled) stopped = true;
if (found.cache) cache = found.cache;
} catch { if (nav.sendBeacon) nav.sendBeacon(endpoint, body); }
};
const track = (what, data) => {
flush();
return send(typeof what === 'string' ? { ...about(), name: what, data }
: typeof what === 'function' ? what(about())
: what ? { ...what } : about());
};
const identify = (id, data) => {
if (typeof id === 'string') identity = id;
else data = id;
cache = undefined;
return send({ ...about(), data }, 'identify');
};
// A view of a page inside an application waits a moment for its title, but not beyond the next event.
const flush = () => {
if (!pending) return;
clearTimeout(pending);
pending = 0;
send(about());
};
const moved = () => {
const next = clean(loc.href);
if (next === current) return;
flush();
referrer = current;
current = next;
pending = setTimeout(flush, 300);
};
const clicked = event => {
const element = event.target.closest && event.target.closest('[data-umami-event],[data-sumimi-event]');
if (!element) return;
const data = {};
let name;
for (const { name: key, value } of element.attributes) {
const found = /^data-s?umami-event(-(.+))?$/.exec(key);
if (found && found[2]) data[found[2]] = value;
else if (found) name = value;
}
if (name) track(name, data);
};
const measure = () => {
const vitals = {};
let sent, shift = 0, first = 0, last = 0;
const watch = (type, run, more) => {
try { new PerformanceObserver(list => list.getEntries().forEach(run)).observe({ type, buffered: true, ...more }); } catch {}
};
watch('navigation', entry => { vitals.ttfb = entry.responseStart; });
watch('paint', entry => { if (entry.name === 'first-contentful-paint') vitals.fcp = entry.startTime; });
watch('largest-contentful-paint', entry => { vitals.lcp = entry.startTime; });
// Shifts within a second of each other and five in all are one; the worst one counts.
watch('layout-shift', entry => {
if (entry.hadRecentInput) return;
const at = entry.startTime;
shift = at - last < 1000 && at - first < 5000 ? shift + entry.value : (first = at, entry.value);
last = at;
vitals.cls = Math.max(vitals.cls || 0, shift);
});
watch('event', entry => { if (entry.interactionId) vitals.inp = Math.max(vitals.inp || 0, entry.duration); }, { durationThreshold: 40 });
on(d, 'visibilitychange', () => {
if (sent || d.visibilityState !== 'hidden' || !Object.keys(vitals).length) return;
sent = true;
send({ ...about(), ...vitals }, 'performance');
});
};
const start = () => {
if (attr('auto-track') === 'false') return;
for (const name of ['pushState', 'replaceState']) {
const original = w.history[name];
w.history[name] = function (...args) {
const result = original.apply(this, args);
moved();
return result;
};
}
on(w, 'popstate', moved);
on(w, 'pagehide', flush);
on(w, 'pageshow', event => { if (event.persisted) { cache = undefined; send(about()); } });
on(d, 'click', clicked);
if (attr('performance') === 'true') measure();
send(about());
};
w.sumimi = w.sumimi || { track, identify };
w.umami = w.umami || w.sumimi;
if (d.prerendering) on(d, 'prerenderingchange', start);
else if (d.readyState === 'loading') on(d, 'DOMContentLoaded', start);
else start();
})(window);
