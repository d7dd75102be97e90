import { Forbidden } from './http-failure.ts';

/** HTTP 403 that asks for more than the account has granted (RFC 6750): a person has to connect it again. */
export class ScopeRequired extends Forbidden {
  /** Separated by spaces; null: the source names none. */
  readonly scope: string | null;

  constructor(scope: string | null) {
    super('The source asks for scopes that the account has not granted: connect it again.');
    this.scope = scope;
  }
}
