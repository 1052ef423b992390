// The tracker: counts views and events of the page that embeds it and posts them to the server it came from.
//
// What must stay true: it never throws into the page, never delays a click, sets no cookie and stores nothing;
// a view or event that has happened is sent even when the page is left at once; no message is sent twice.
// Bodies go out as plain text without headers of our own, so that browsers ask no permission (OPTIONS) for each.
//
// Comments stand on lines of their own and no string spans lines: the server drops comment lines and indents.
(() => {
  const script = document.currentScript || document.querySelector('script[data-website-id]');
  const setting = name => (script && script.getAttribute('data-' + name)) || undefined;
  const isOn = name => setting(name) === 'true';

  const website = setting('website-id');
  // A second tag for the same website would count everything twice.
  const mark = 'sumimi ' + website;
  if (!website || window[mark]) return;
  window[mark] = true;

  // The server writes another path here when it collects elsewhere.
  const path = '/api/send';
  const host = setting('host-url') || new URL('.', script.src).href;
  const endpoint = host.replace(/\/+$/, '') + path;
  const credentials = setting('fetch-credentials') || 'omit';
  const { hostname } = location;

  const clean = (address = location.href) => {
    const url = new URL(address);
    if (isOn('exclude-search')) url.search = '';
    if (isOn('exclude-hash')) url.hash = '';
    return url.href;
  };

  // The page as last seen. Of the document's referrer only a foreign one tells something.
  let url = clean();
  let { referrer } = document;
  referrer = referrer && !referrer.startsWith(location.origin + '/') ? clean(referrer) : '';
  // The visitor's id as given by `identify`, and the server's token, which saves it looking up the session.
  let id, cache;
  let isStopped =
    (isOn('do-not-track') && (navigator.doNotTrack == 1 || navigator.globalPrivacyControl)) ||
    (setting('domains') || hostname).split(',').every(name => name.trim() !== hostname);
  // A view that has happened and is not sent yet; the timer will send it, or whatever comes first.
  let isWaiting, timer;

  const send = async (payload, type = 'event') => {
    if (isStopped) return;
    try {
      if (localStorage.getItem('umami.disabled')) return;
    } catch {
      // Storage is blocked: nobody can have switched us off in it.
    }
    const check = window[setting('before-send')];
    if (typeof check === 'function') payload = await check(type, payload);
    if (!payload) return;
    const sender = id;
    const body = JSON.stringify({ type, payload, cache });
    // Without keepalive a request dies with its page. A beacon does not, but it hears no answer.
    if (!('keepalive' in Request.prototype) && navigator.sendBeacon(endpoint, body)) return;
    try {
      // Browsers refuse keepalive beyond 64 KB. A failed request may have arrived: it is not repeated.
      const keepalive = body.length < 2e4;
      const answer = await (await fetch(endpoint, { method: 'POST', body, keepalive, credentials })).json();
      // A token from before `identify` names another session.
      if (sender === id) cache = answer.cache || cache;
      isStopped = isStopped || answer.disabled;
    } catch {
      // Nothing that the page could do about it.
    }
  };

  const payload = () => ({
    website,
    hostname,
    screen: screen.width + 'x' + screen.height,
    language: navigator.language,
    title: document.title,
    url,
    referrer,
    tag: setting('tag'),
    id,
  });

  // The same after a look at the address, for pages whose navigation is not watched.
  const current = () => {
    const next = clean();
    if (next !== url) [referrer, url] = [url, next];
    return payload();
  };

  const track = (what, data) => {
    if (typeof what === 'string') return send({ ...current(), name: what, data });
    if (typeof what === 'function') return send(what(current()));
    return send(what ? { website, ...what } : current());
  };

  const identify = (who, data = who) => {
    if (typeof who === 'string') id = who || undefined;
    if (typeof data !== 'object') data = undefined;
    cache = undefined;
    return send({ ...current(), data }, 'identify');
  };

  window.sumimi = window.sumimi || { track, identify };
  window.umami = window.umami || window.sumimi;

  const sendView = () => {
    if (isWaiting) send(payload());
    isWaiting = false;
  };

  // The address has changed. The title follows a little later. A view that still waits is of the page before,
  // unless that page was replaced before anybody saw it.
  const moved = isReplaced => {
    const next = clean();
    if (next === url) return;
    if (!isReplaced || !isWaiting) {
      sendView();
      referrer = url;
    }
    url = next;
    isWaiting = true;
    clearTimeout(timer);
    timer = setTimeout(sendView, 300);
  };

  const on = (name, listener) => addEventListener(name, listener, true);

  const watch = () => {
    for (const name of ['pushState', 'replaceState']) {
      const original = history[name];
      history[name] = function (...args) {
        const result = original.apply(this, args);
        moved(name !== 'pushState');
        return result;
      };
    }
    on('popstate', () => {
      // A jump to an anchor is no view; a route that is kept in the hash is one.
      const anchor = /#(?![!/]).*/;
      if (clean().replace(anchor, '') !== url.replace(anchor, '')) moved();
      url = clean();
    });
    // Back from the browser's memory of whole pages; from where is not known.
    on('pageshow', event => {
      if (event.persisted) [referrer, isWaiting] = ['', true];
    });
    on('click', ({ target }) => {
      const element = target.closest && target.closest('[data-umami-event],[data-sumimi-event]');
      if (!element) return;
      const data = {};
      let label;
      for (const { name, value } of element.attributes) {
        const [found, key] = /^data-(?:umami|sumimi)-event-?(.*)$/.exec(name) || [];
        if (key) data[key] = value;
        else if (found) label = value;
      }
      if (label) track(label, data);
    });
    url = clean();
    isWaiting = true;
  };

  // Web vitals, reported once, when the page is hidden for the first time.
  let report;
  const measure = () => {
    const { url, title } = payload();
    const [load = {}] = performance.getEntriesByType('navigation');
    const since = load.activationStart || 0;
    // No shift is a figure too, where browsers know shifts.
    const vitals = { ttfb: load.responseStart - since, cls: window.LayoutShift && 0 };
    const delays = {};
    let burst, burstStart, burstEnd;
    const event = ({ interactionId, duration }) => {
      if (interactionId) delays[interactionId] = Math.max(delays[interactionId] || 0, duration);
    };
    const handlers = {
      event,
      'first-input': event,
      // First of anything, then of content: the later one stays.
      paint: ({ startTime }) => {
        vitals.fcp = startTime - since;
      },
      'largest-contentful-paint': ({ startTime }) => {
        vitals.lcp = startTime - since;
      },
      // The worst burst of shifts: at most 1 s between two, at most 5 s in all.
      'layout-shift': ({ startTime, value, hadRecentInput }) => {
        if (hadRecentInput) return;
        if (!(startTime - burstEnd < 1e3 && startTime - burstStart < 5e3)) {
          burst = 0;
          burstStart = startTime;
        }
        burstEnd = startTime;
        burst += value;
        vitals.cls = Math.max(vitals.cls, burst);
      },
    };
    const drains = Object.keys(handlers).map(type => {
      const handle = entries => entries.forEach(handlers[type]);
      const observer = new PerformanceObserver(list => handle(list.getEntries()));
      observer.observe({ type, buffered: true, durationThreshold: 40 });
      return () => handle(observer.takeRecords());
    });
    report = () => {
      report = undefined;
      drains.forEach(drain => drain());
      // One slow interaction in fifty is forgiven.
      const slowest = Object.values(delays).sort((a, b) => b - a);
      vitals.inp = slowest[Math.min(slowest.length - 1, (performance.interactionCount / 50) | 0)];
      for (const name in vitals) {
        // The server takes no more than a minute, and a clock may run backwards.
        if (!(vitals[name] >= 0 && vitals[name] <= 6e4)) delete vitals[name];
      }
      send({ ...payload(), url, title, ...vitals }, 'performance');
    };
  };

  const start = () => {
    if (setting('auto-track') !== 'false') watch();
    const leave = () => {
      sendView();
      if (report) report();
    };
    on('pagehide', leave);
    on('visibilitychange', () => {
      if (document.hidden) leave();
    });
    // Scripts below ours may yet define what `data-before-send` names, or set the title.
    let isReady;
    const ready = () => {
      sendView();
      // A page that was loaded in the background was not waited for.
      if (!isReady && isOn('performance') && !document.hidden) measure();
      isReady = true;
    };
    if (document.readyState === 'complete') ready();
    on('DOMContentLoaded', ready);
    on('pageshow', ready);
  };

  // A page rendered ahead has no visitor yet.
  if (document.prerendering) on('prerenderingchange', start);
  else start();
})();
