import type { ToolMedia } from '#domain/capabilities/tools/tool-server.ts';

/** Of one result: vendors take images of a few megabytes, and each turn behind it sends them again. */
const maxMedia = 4;
const maxCharacters = 1_048_576;

/** By their first bytes: what a server claims may be wrong, and a vendor refuses the whole request then. */
const kinds: readonly (readonly [string, RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xFF\xD8\xFF/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[^]{4}WEBP/],
  ['audio/wav', /^RIFF[^]{4}WAVE/],
  ['audio/mp3', /^(?:ID3|\xFF[\xE2\xE3\xF2\xF3\xFA\xFB])/],
  ['audio/ogg', /^OggS/],
  ['audio/flac', /^fLaC/],
];

/** The images and sounds of a result that models may be given, as far as there is room; what is left is not carried. */
export class ResultMedia {
  readonly taken: ToolMedia[] = [];
  #left = maxCharacters;

  /** @returns whether it is carried */
  take(data: string): boolean {
    const head = Buffer.from(data.slice(0, 32), 'base64').toString('latin1');
    const [mediaType] = kinds.find(([, magic]) => magic.test(head)) ?? [];
    const fits = this.taken.length < maxMedia && data.length <= this.#left;
    if (mediaType === undefined || !fits || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) {
      return false;
    }
    this.taken.push({ mediaType, data });
    this.#left -= data.length;
    return true;
  }
}
