/* Pacekeeper. Everything here is enhancement: the pages work without it. No eval, no inline handlers. What a form means is
   said by the server (htmx asks it while people type); this file moves sliders, counts changes and guards them. */
(function () {
'use strict';
var doc = document, root = doc.documentElement;
function $(q, el) { return (el || doc).querySelector(q); }
function $$(q, el) { return Array.prototype.slice.call((el || doc).querySelectorAll(q)); }
function fire(el, type) { el.dispatchEvent(new Event(type, { bubbles: true })); }
root.classList.add('js');

/* the summary of errors takes focus; its links open the folds around a field and focus it */
var summary = $('.errors');
if (summary) summary.focus();
$$('.errors a').forEach(function (a) {
  a.addEventListener('click', function (e) {
    var field = doc.getElementById(a.getAttribute('href').slice(1));
    if (!field) return;
    e.preventDefault();
    for (var d = field.closest('details'); d; d = d.parentElement.closest('details')) d.open = true;
    field.focus();
    field.scrollIntoView({ block: 'center' });
  });
});

var tab = $('.tabs [aria-current]');
if (tab) $('.tabs').scrollLeft = tab.offsetLeft - 60;

/* dialogs: data-dialog opens, data-close closes */
doc.addEventListener('click', function (e) {
  var opener = e.target.closest('[data-dialog]'), closer = e.target.closest('[data-close]');
  if (opener) { e.preventDefault(); doc.getElementById(opener.dataset.dialog).showModal(); }
  if (closer) closer.closest('dialog').close();
});

/* data-copy copies what it names and says so */
doc.addEventListener('click', function (e) {
  var b = e.target.closest('[data-copy]');
  if (b && navigator.clipboard) navigator.clipboard.writeText($(b.dataset.copy).textContent).then(function () { b.textContent = b.dataset.done; });
});

/* the server sends what is left, the page counts down */
function clock(left, units) {
  var h = Math.floor(left / 3600), m = Math.floor(left % 3600 / 60), s = left % 60, out = [];
  if (h) out.push(h + ' ' + units[0]);
  if (m) out.push(m + ' ' + units[1]);
  if (!h) out.push(s + ' ' + units[2]);
  return out.join(' ');
}
setInterval(function () {
  $$('[data-left]').forEach(function (el) {
    var left = Math.max(0, el.dataset.left - 1);
    el.dataset.left = left;
    el.textContent = clock(left, el.dataset.units.split(','));
    var bar = $('progress', el.parentElement);
    if (bar) bar.value = left;
  });
}, 1000);

/* a page that is out of date with its session keeps its form and says so */
doc.addEventListener('htmx:responseError', function (e) {
  var status = e.detail.xhr.status, over = $('#session-over');
  if (over && (status === 401 || status === 403)) over.hidden = false;
  else if (e.detail.elt.dataset.failed) ($('#beat .cap') || $('#impact .big')).textContent = e.detail.elt.dataset.failed;
});

var form = $('#policy');
if (!form) return;
var readonly = form.hasAttribute('data-readonly'), saving = false, structural = 0, forced = +form.dataset.dirty || 0;

/* notes come with their kind; the field around them shows it */
function mark() {
  $$('.note[id]', form).forEach(function (note) {
    var box = note.closest('.field,.rung'), input = doc.getElementById(note.id.slice(0, -2)), kind = note.dataset.kind;
    if (!box || !input || input.id === 'nm') return;
    box.classList.toggle('is-error', kind === 'error');
    box.classList.toggle('is-clamped', kind === 'clamped');
    if (kind === 'error') input.setAttribute('aria-invalid', 'true'); else input.removeAttribute('aria-invalid');
  });
}
doc.addEventListener('htmx:afterSettle', mark);
doc.addEventListener('htmx:oobAfterSwap', mark);

/* what is not saved yet */
function differs(e) {
  if (e.type === 'hidden' || e.name === 'pattern' || e.name === 'of' || e.dataset.pick || e.hasAttribute('data-ignore') || e.closest('[data-ignore]')) return false;
  if (e.type === 'checkbox' || e.type === 'radio') return e.checked !== e.defaultChecked;
  if (e.tagName !== 'SELECT') return e.value !== e.defaultValue;
  var stood = $$('option', e).filter(function (o) { return o.defaultSelected; })[0] || e.options[0];
  return !stood.selected;
}
function dirty() {
  var names = {};
  $$('input[name],select[name],textarea[name]', form).forEach(function (e) {
    if (differs(e)) names[/^rung-/.test(e.name) ? e.id || e.name : e.name.replace(/-u$/, '')] = 1;
  });
  var n = Object.keys(names).length + structural + forced, says = $('#dirty');
  if (says) {
    says.textContent = n === 0 ? says.dataset.none : n === 1 ? says.dataset.single : says.dataset.many.replace('#', n);
    $('.savebar').classList.toggle('is-dirty', n > 0);
  }
  return saving || readonly ? 0 : n;
}

/* a choice on the conflict page fills its field; a field edited by hand drops the choice */
function takePick(radio) {
  new URLSearchParams(radio.dataset.fields).forEach(function (value, name) {
    $$('[name="' + name + '"]', form).forEach(function (field) {
      if (field.type === 'checkbox') field.checked = value !== ''; else field.value = value;
    });
  });
}
function dropPick(name) {
  var key = /^rung-/.test(name) ? 'ladder' : name === 'role' ? 'roles' : name.replace(/-(u|on)$/, '');
  $$('[data-pick="' + key + '"]').forEach(function (radio) { radio.checked = false; });
}

function changed(e) {
  var t = e.target, slider;
  if (t.type === 'range') { $('#' + t.dataset.for).value = t.value; dropPick(t.dataset.for); }
  else if (t.dataset.pick) takePick(t);
  else if (t.name) {
    dropPick(t.name);
    slider = $('[data-for="' + t.id + '"]');
    if (slider) slider.value = parseFloat(t.value.replace(',', '.')) || slider.value;
    var on = doc.getElementById(t.name + '-on') || (/-count$/.test(t.name) && doc.getElementById(t.name.replace(/count$/, 'window-on')));
    if (on && t.value) on.checked = true;
    if (t.name === 'rung-do') t.closest('.rung').className = 'rung do-' + t.value; 
  }
  dirty();
}
form.addEventListener('input', changed);
form.addEventListener('change', changed);
doc.addEventListener('change', function (e) { if (e.target.dataset.pick && !form.contains(e.target)) { changed(e); fire(form, 'preview'); } });

/* an action that comes anew with another algorithm is changed, whatever its fields say */
doc.addEventListener('htmx:afterSwap', function (e) {
  if (e.detail.target.matches && e.detail.target.matches('.act') && e.detail.requestConfig.verb === 'post') { structural++; mark(); dirty(); }
});

/* the preview follows the action that is being edited */
form.addEventListener('focusin', function (e) {
  var fold = e.target.closest('[data-action]'), of = $('#of');
  if (fold && of && of.value !== fold.dataset.action) { of.value = fold.dataset.action; fire(form, 'preview'); }
});

/* steps of the ladder: the same names and ids as the server gives */
function renumber() {
  var rungs = $$('.rung').slice(1), add = $('#add-rung');
  rungs.forEach(function (li, i) {
    var old = $('[name="rung-after"]', li).id;
    $$('[id],[for],[aria-describedby]', li).forEach(function (el) {
      ['id', 'for', 'aria-describedby'].forEach(function (a) {
        var v = el.getAttribute(a);
        if (v) el.setAttribute(a, v.replace(old, 'rung-' + i));
      });
    });
    var remove = $('[data-remove]', li);
    remove.value = 'remove-rung-' + i;
    remove.setAttribute('aria-label', remove.getAttribute('aria-label').replace(/\d+/, i + 2));
    $('legend', li).textContent = $('legend', li).textContent.replace(/\d+/, i + 2);
  });
  if (add) add.disabled = rungs.length >= +add.dataset.max;
}
function restructured() { structural++; dropPick('rung-'); renumber(); dirty(); fire(form, 'preview'); }
form.addEventListener('click', function (e) {
  var remove = e.target.closest('[data-remove]'), add = e.target.closest('#add-rung'), rungs = $$('.rung'), last = rungs[rungs.length - 1];
  if (remove) {
    e.preventDefault();
    var li = remove.closest('.rung'), next = li.nextElementSibling || li.previousElementSibling;
    li.remove();
    restructured();
    ($('input', next) || $('#add-rung')).focus();
  } else if (add && rungs.length > 1) {
    e.preventDefault();
    var copy = last.cloneNode(true), count = $('[name="rung-after"]', copy);
    count.value = (parseInt(count.value, 10) || 1) + 1;
    count.id = 'rung-new';
    $$('select', copy).forEach(function (s, i) { s.selectedIndex = $$('select', last)[i].selectedIndex; });
    last.after(copy);
    restructured();
    count.focus();
    count.select();
  }
});

/* Enter in the fields of a new member adds the member, it does not save the form */
form.addEventListener('keydown', function (e) {
  if (e.key === 'Enter' && /^nm/.test(e.target.id)) { e.preventDefault(); $('[name="add"]', form).click(); }
});
var find = $('#find');
if (find) find.addEventListener('submit', function (e) { if ($('#q')) { e.preventDefault(); fire($('#q'), 'input'); } });

/* one save at a time; unsaved changes are guarded: by our own dialog for links, by the browser for the rest */
form.addEventListener('submit', function (e) {
  if (saving) { e.preventDefault(); return; }
  saving = true;
  var button = e.submitter && e.submitter.dataset.busy ? e.submitter : $('[data-busy]', form);
  if (button && !(e.submitter && e.submitter.name)) button.textContent = button.dataset.busy;
});
addEventListener('pageshow', function () { saving = false; });
addEventListener('beforeunload', function (e) { if (dirty()) { e.preventDefault(); e.returnValue = ''; } });
var leave = $('#leave'), target = '';
doc.addEventListener('click', function (e) {
  var a = e.target.closest('a[href]');
  if (!a || !leave || a.target || a.hasAttribute('hx-get') || a.getAttribute('href').charAt(0) === '#' || !dirty()) return;
  e.preventDefault();
  target = a.href;
  leave.showModal();
});
if (leave) $('#leave-go').addEventListener('click', function () { saving = true; location.href = target; });
mark();
dirty();
})();
