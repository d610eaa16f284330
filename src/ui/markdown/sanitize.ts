import createDOMPurify, { type DOMPurify } from 'dompurify';

/** What a model may put into a page: text structure. No image, form, frame, style, id, class or handler. */
const ALLOWED_TAGS = [
  ...['p', 'br', 'hr', 'h3', 'h4', 'h5', 'h6', 'strong', 'em', 'del', 'code', 'pre', 'a', 'blockquote'],
  ...['ul', 'ol', 'li', 'input', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
];
const ALLOWED_ATTR = ['href', 'title', 'start', 'align', 'type', 'checked', 'disabled'];

/** Relative links are refused too: they would point into the page that embeds the chat. */
const ALLOWED_URI = /^(?:https?:|mailto:)/i;

let instance: DOMPurify | undefined;

function purifier(): DOMPurify {
  if (instance) return instance;
  // An instance of our own, so that our hooks do not change what the page's DOMPurify does.
  const purify = createDOMPurify(window);
  purify.addHook('afterSanitizeAttributes', (element) => {
    if (element.tagName === 'A') {
      element.setAttribute('target', '_blank');
      element.setAttribute('rel', 'noopener noreferrer nofollow');
    }
    // Only the check mark of a task list is an input here, and it cannot be used.
    if (element.tagName === 'INPUT') {
      element.setAttribute('type', 'checkbox');
      element.setAttribute('disabled', '');
      element.setAttribute('aria-label', element.hasAttribute('checked') ? 'done' : 'to do');
    }
  });
  instance = purify;
  return purify;
}

/** HTML made from model text, as nodes that cannot run script, load anything or look like a control of the page. */
export function sanitizeToFragment(html: string): DocumentFragment {
  return purifier().sanitize(html, {
    ALLOWED_TAGS,
    ALLOWED_ATTR,
    ALLOWED_URI_REGEXP: ALLOWED_URI,
    // Without this, the rule for addresses would also be applied to the values of these.
    ADD_URI_SAFE_ATTR: ['start', 'align', 'type'],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
}
