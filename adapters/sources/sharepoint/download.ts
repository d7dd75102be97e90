import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { SourceAccess } from '../provider.ts';
import { authorizationOf } from '../shared/authorization.ts';
import { discardBody, readBody } from '../shared/bounded-body.ts';
import { followRedirects } from '../shared/follow-redirects.ts';
import { asSourceFailures, statusFailure } from '../shared/http-failure.ts';
import { graphFailure } from './failure.ts';

export type Downloaded =
  | { kind: 'content'; content: Buffer; mediaType: string | null }
  | { kind: 'gone' | 'refused' | 'too_large' };

/**
 * The bytes of a file. Microsoft Graph redirects to a host that stores it, at an address that needs no credential and
 * gets none.
 * @returns `refused`: Microsoft Graph itself does, of this file or of everything
 * @throws SourceFailure
 */
export function download(
  access: SourceAccess,
  address: string,
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<Downloaded> {
  return asSourceFailures(signal, async () => {
    const init = { headers: { accept: '*/*' }, signal };
    const { response, url } = await followRedirects(
      access.fetch,
      address,
      init,
      await authorizationOf(access),
    );
    const { status } = response;
    if (status === 200) {
      const content = await readBody(response, maxBytes);
      return content === null
        ? { kind: 'too_large' }
        : { kind: 'content', content, mediaType: response.headers.get('content-type') };
    }
    await discardBody(response);
    const isMoved = new URL(url).origin !== new URL(address).origin;
    if (isMoved && status < 500 && status !== 429) {
      // Such an address ends after minutes; its refusal says nothing of the credential, nor of the file.
      throw new SourceFailure('source_unreachable', `The host of a file answers HTTP ${status}.`);
    }
    if (status === 404 || status === 410) {
      return { kind: 'gone' };
    }
    if (status === 403) {
      return { kind: 'refused' };
    }
    throw graphFailure(response) ?? statusFailure(response);
  });
}
