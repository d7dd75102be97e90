import type { ToolMedia } from '#domain/capabilities/tools/tool-server.ts';
import type { SecretRemover } from '../egress/secret-remover.ts';

/** Max media per result: vendors accept images of a few megabytes, and each later turn sends them again. */
const maxMedia = 4;
const maxCharacters = 1_048_576;

/** Detected by their first bytes: a wrong media type makes a vendor refuse the whole request. */
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

/**
 * Collects the images and sounds of a result that models accept, up to a limit; the rest is dropped. So are those with
 * the credential that was sent in their bytes, such as in a comment; what is drawn or compressed is not found.
 */
export class ResultMedia {
  readonly taken: ToolMedia[] = [];
  readonly #remover: SecretRemover;
  #left = maxCharacters;

  constructor(remover: SecretRemover) {
    this.#remover = remover;
  }

  /** @returns whether the part is included */
  take(data: string): boolean {
    const head = Buffer.from(data.slice(0, 32), 'base64').toString('latin1');
    const [mediaType] = kinds.find(([, magic]) => magic.test(head)) ?? [];
    const fits = this.taken.length < maxMedia && data.length <= this.#left;
    if (mediaType === undefined || !fits || !/^[A-Za-z0-9+/]+={0,2}$/.test(data) || this.#holdsSecret(data)) {
      return false;
    }
    this.taken.push({ mediaType, data });
    this.#left -= data.length;
    return true;
  }

  #holdsSecret(data: string): boolean {
    const bytes = Buffer.from(data, 'base64').toString('latin1');
    return this.#remover.text(bytes) !== bytes;
  }
}
