import { SourceFailure, type FetchInput, type Fetched } from '#domain/knowledge/connectors/source.ts';
import { TooLong } from '../shared/json-api.ts';
import { isShownComment, toMarkdown, versionOf } from './document.ts';
import { issuesAtOnce, type JiraClient } from './jira-client.ts';
import type { JiraScope } from './scope.ts';
import { listedFields, type Comment, type WholeIssue } from './wire.ts';

const maxCommentPages = 100;

/** Reads the text of issues and their comments: many with one request, or one by itself. */
export class IssueReader {
  readonly #scope: JiraScope;
  readonly #client: JiraClient;
  readonly #fields: readonly string[];
  #prepared: ReadonlyMap<string, WholeIssue> = new Map();
  /** False: issues are too large to be read together, or the service does not do it. */
  #readsMany = true;

  constructor(scope: JiraScope, client: JiraClient) {
    this.#scope = scope;
    this.#client = client;
    this.#fields = [...listedFields, 'description', ...(scope.comments ? ['comment'] : [])];
  }

  /** @returns how many need no request of their own */
  async prepare(ids: readonly string[], signal: AbortSignal): Promise<number> {
    this.#prepared = new Map();
    if (!this.#readsMany) {
      return 0;
    }
    try {
      const wanted = ids.slice(0, issuesAtOnce);
      const found = await this.#client.issues(wanted, this.#fields, signal);
      this.#prepared = new Map(found.filter(({ id }) => wanted.includes(id)).map((each) => [each.id, each]));
    } catch (error) {
      signal.throwIfAborted();
      // Reading them one by one says what is wrong.
      this.#readsMany =
        error instanceof SourceFailure && ['rate_limited', 'source_unreachable'].includes(error.code);
    }
    return [...this.#prepared.values()].filter((each) => this.#isWhole(each)).length;
  }

  /** @param accepts whether it belongs to the scope */
  async read(
    { ref, version, maxBytes }: FetchInput,
    accepts: (issue: WholeIssue) => boolean,
    signal: AbortSignal,
  ): Promise<Fetched> {
    try {
      const found = this.#prepared.get(ref) ?? (await this.#issue(ref, signal));
      if (found === null || !accepts(found)) {
        return { kind: 'gone' };
      }
      const current = versionOf(found, this.#scope);
      if (current === version) {
        return { kind: 'unchanged' };
      }
      const comments = await this.#comments(found, maxBytes, signal);
      const content = comments === null ? null : toMarkdown(found, comments);
      return content === null || content.byteLength > maxBytes
        ? { kind: 'skipped', code: 'too_large' }
        : { kind: 'content', content, mediaType: 'text/markdown', version: current };
    } catch (error) {
      if (error instanceof TooLong) {
        return { kind: 'skipped', code: 'too_large' };
      }
      throw error;
    }
  }

  async #issue(id: string, signal: AbortSignal): Promise<WholeIssue | null> {
    try {
      return await this.#client.issue(id, this.#fields, signal);
    } catch (error) {
      if (!(error instanceof TooLong) || !this.#scope.comments) {
        throw error;
      }
      // Its comments may be what is too long: they are read in pages.
      return this.#client.issue(id, this.#fields.slice(0, -1), signal);
    }
  }

  #isWhole({ fields: { comment } }: WholeIssue): boolean {
    return !this.#scope.comments || (comment != null && comment.comments.length >= comment.total);
  }

  /** Null: they are longer than `maxBytes`. */
  async #comments(issue: WholeIssue, maxBytes: number, signal: AbortSignal): Promise<Comment[] | null> {
    if (!this.#scope.comments || this.#isWhole(issue)) {
      return this.#shown(issue.fields.comment?.comments ?? []);
    }
    const found: Comment[] = [];
    let length = 0;
    let at = 0;
    for (let pages = 0; pages < maxCommentPages; pages += 1) {
      const page = await this.#client.comments(issue.id, at, signal);
      const shown = this.#shown(page?.comments ?? []);
      found.push(...shown);
      length += shown.reduce((sum, { body }) => sum + body.length, 0);
      if (length > maxBytes) {
        return null;
      }
      at += page?.comments.length ?? 0;
      if (page === null || page.comments.length === 0 || at >= page.total) {
        break;
      }
    }
    return found;
  }

  #shown(comments: readonly Comment[]): Comment[] {
    return comments.filter((comment) => isShownComment(comment, this.#scope));
  }
}
