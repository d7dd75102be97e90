/** Google defines images behind the text, and refers to them by their numbers. */
const definition = /^\[image\d{1,6}\]: <data:image\/[a-z0-9.+-]{1,40};base64,[a-z0-9+/=]*>[ \t]*\r?\n?/gim;
const reference = /!\[([^[\]\n]{0,300})\]\[image\d{1,6}\]/g;
const embedded = /data:image\/[a-z0-9.+-]{1,40};base64,[a-z0-9+/=]*/gi;

/** Markdown whose embedded images have become their descriptions: as text they would be found, and cost as much. */
export function withoutImages(markdown: Buffer): Buffer {
  if (!markdown.includes('data:image/')) {
    return markdown;
  }
  // A character for each byte: what is cut is ASCII.
  const text = markdown.toString('latin1');
  const cut = text.replaceAll(definition, '').replaceAll(reference, '$1').replaceAll(embedded, '');
  return Buffer.from(cut, 'latin1');
}
