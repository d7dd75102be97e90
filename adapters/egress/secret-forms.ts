/** Shorter forms are not looked for: they also occur in text that holds no secret, and removing them would garble it. */
const minFormLength = 6;

/**
 * The forms in which a server is likely to send back a header's value, in printable ASCII: with and without its scheme,
 * as base64 and base64url at each of the three alignments, as hexadecimal digits, and escaped for URLs, JSON and HTML.
 */
export function secretForms(value: string): string[] {
  const forms = valuesOf(value).flatMap((secret) => [secret, ...encoded(secret)]);
  return [...new Set(forms.map((form) => form.replaceAll(/[^!-~]/g, '')))].filter(
    (form) => form.length >= minFormLength,
  );
}

const schemes = new Set(['bearer', 'basic', 'token', 'apikey', 'api-key']);

/**
 * The value behind an authentication scheme, and the decoded credentials of `Basic`; the scheme itself is not secret.
 */
function valuesOf(value: string): string[] {
  const [word = ''] = value.split(' ', 1);
  const scheme = word.toLowerCase();
  const token = schemes.has(scheme) ? value.slice(word.length).trim() : value;
  const pair = scheme === 'basic' ? Buffer.from(token, 'base64').toString('latin1') : '';
  const password = pair.includes(':') ? pair.slice(pair.indexOf(':') + 1) : '';
  return [token, pair, password].filter((each) => each !== '');
}

function encoded(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString('hex');
  const percent = hex.replaceAll(/../g, '%$&');
  const uri = encodeURIComponent(secret);
  const json = JSON.stringify(secret).slice(1, -1);
  const html = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const forms = [
    ...[0, 1, 2].map((offset) => base64At(bytes, offset)),
    hex,
    percent,
    uri,
    lowerPercent(uri),
    uri.replaceAll('%20', '+'),
    json,
    json.replaceAll('/', '\\/'),
    JSON.stringify(json).slice(1, -1),
    html.replaceAll('"', '&quot;').replaceAll("'", '&#39;'),
    [...bytes].map((byte) => `\\u${byte.toString(16).padStart(4, '0')}`).join(''),
  ];
  return forms.flatMap((form) => [form, ...otherCases(form, hex, percent), toBase64Url(form)]);
}

function otherCases(form: string, ...hexadecimal: string[]): string[] {
  return hexadecimal.includes(form) ? [form.toUpperCase()] : [];
}

function lowerPercent(uri: string): string {
  return uri.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase());
}

function toBase64Url(form: string): string {
  return form.replaceAll('+', '-').replaceAll('/', '_');
}

/** The base64 digits that depend on these bytes alone when `offset` other bytes precede them. */
function base64At(bytes: Buffer, offset: number): string {
  const digits = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  return digits.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}
