import type { Socket } from 'node:net';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { EgressRefused } from '../../egress/public-address.ts';
import type { SourceAccess } from '../provider.ts';

type Connect = SourceAccess['connect'];
type Target = Omit<Parameters<Connect>[0], 'listedOnly'>;

/**
 * Dials the server of a source. Without encryption the password is sent in the clear: only to servers that the operator
 * lists.
 *
 * @throws SourceFailure `scope_invalid`: the server of an unencrypted connection is not listed
 */
export async function dialServer(connect: Connect, target: Target, isEncrypted: boolean): Promise<Socket> {
  try {
    return await connect({ ...target, listedOnly: !isEncrypted });
  } catch (error) {
    if (isEncrypted || !(error instanceof EgressRefused)) {
      throw error;
    }
    throw new SourceFailure(
      'scope_invalid',
      'A password is sent in the clear only to servers that the operator lists in EGRESS_ALLOW.',
      { cause: error },
    );
  }
}
