import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { SourceAccess } from '../provider.ts';
import { authorizationOf } from '../shared/authorization.ts';
import { discardBody, readBody } from '../shared/bounded-body.ts';
import { followRedirects } from '../shared/follow-redirects.ts';
import { asSourceFailures, statusFailure } from '../shared/http-failure.ts';
import { AccessDenied, graphFailure } from './failure.ts';

const maxErrorBytes = 65_536;

export type Downloaded =
  | { kind: 'content'; content: Buffer; mediaType: string | null }
  | { kind: 'gone' | 'refused' | 'too_large' };

/**
 * The bytes of a file. Microsoft Graph redirects to a host that stores it, at an address that needs no credential and
 * gets none.
 * @returns `refused`: by Microsoft Graph itself, for this file or for everything
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
    const isMoved = new URL(url).origin !== new URL(address).origin;
    if (isMoved && status < 500 && status !== 429) {
      await discardBody(response);
      // Such an address ends after minutes; its refusal says nothing of the credential, nor of the file.
      throw new SourceFailure('source_unreachable', `The host of a file answers HTTP ${status}.`);
    }
    const failure = graphFailure(response, await readJson(response)) ?? statusFailure(response);
    if (status === 404 || status === 410) {
      return { kind: 'gone' };
    }
    if (failure instanceof AccessDenied) {
      return { kind: 'refused' };
    }
    throw failure;
  });
}

async function readJson(response: Response): Promise<unknown> {
  const text = await readBody(response, maxErrorBytes);
  try {
    return JSON.parse(text?.toString() ?? '');
  } catch {
    return undefined;
  }
}
