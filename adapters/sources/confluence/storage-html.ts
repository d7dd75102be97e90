import { escapeHtml } from '../shared/escape-html.ts';

const open = '<![CDATA[';
const close = ']]>';

/**
 * A page's storage format as HTML: an HTML reader would drop the texts of code blocks and links, which stand in CDATA
 * sections, and read the parameters of macros as text. Takes time in the order of the length.
 */
export function storageToHtml(title: string, storage: string): string {
  const body = withoutCdata(storage)
    .replaceAll(/<ac:parameter\b([^<>]*)>([^<]*)<\/ac:parameter>/g, (_, attributes: string, text: string) =>
      attributes.includes('ac:name="title"') ? `<strong>${text}</strong> ` : '',
    )
    .replaceAll(/<time\b([^<>]*)>/g, (tag, attributes: string) => dateOf(attributes) ?? tag)
    .replaceAll(
      /<ac:link\b[^<>]*>\s{0,100}<ri:page\b([^<>]*)>\s{0,100}<\/ac:link>/g,
      (_, attributes: string) => titleOf(attributes),
    )
    .replaceAll(/<(\/?)ac:plain-text-body\b[^<>]*>/g, '<$1pre>')
    .replaceAll(/<(\/?)ac:task\b[^<>]*>/g, '<$1p>')
    .replaceAll(/<ac:task-(?:id|uuid|status)\b[^<>]*>[^<]*<\/ac:task-(?:id|uuid|status)>/g, '');
  const named = escapeHtml(title);
  return `<!doctype html><html><head><meta charset="utf-8"><title>${named}</title></head><body><h1>${named}</h1>\n${body}\n</body></html>`;
}

/** Of `<time datetime="2026-01-31"/>`, which shows no text of its own. */
function dateOf(attributes: string): string | undefined {
  return /\bdatetime="([\w:.+-]{1,40})"/.exec(attributes)?.[1];
}

/** A link without a body shows the title of its page. */
function titleOf(attributes: string): string {
  return /\bri:content-title="([^"]*)"/.exec(attributes)?.[1] ?? '';
}

function withoutCdata(text: string): string {
  const parts: string[] = [];
  let at = 0;
  for (let start = text.indexOf(open); start !== -1; start = text.indexOf(open, at)) {
    const end = text.indexOf(close, start);
    const stop = end === -1 ? text.length : end;
    parts.push(text.slice(at, start), escapeHtml(text.slice(start + open.length, stop)));
    at = Math.min(stop + close.length, text.length);
  }
  return parts.join('') + text.slice(at);
}
