import { SourceFailure, type FetchInput, type Fetched } from '#domain/knowledge/connectors/source.ts';
import { contentWithin } from '../shared/content-within.ts';
import { maxJsonBytes, TooLong } from '../shared/json-api.ts';
import { Prepared } from '../shared/prepared.ts';
import { toMarkdown, versionOf } from './document.ts';
import { commentTexts, issueText, type CommentText, type IssueText } from './issue-text.ts';
import { issuesAtOnce, type JiraClient } from './jira-client.ts';
import type { JiraScope } from './scope.ts';
import { TextRoom } from './text-room.ts';
import { listedFields, type Issue, type WholeIssue } from './wire.ts';

const maxCommentPages = 100;

/** An issue that was read together with others, without the structure of its response. */
interface PreparedIssue {
  issue: Issue;
  text: IssueText;
}

/** Reads the text of issues and their comments: many with one request, or one by itself. */
export class IssueReader {
  readonly #scope: JiraScope;
  readonly #client: JiraClient;
  readonly #fields: readonly string[];
  readonly #prepared = new Prepared<PreparedIssue>();
  /** False: issues are too large to be read together, or the service does not do it. */
  #readsMany = true;

  constructor(scope: JiraScope, client: JiraClient) {
    this.#scope = scope;
    this.#client = client;
    this.#fields = [...listedFields, 'description', ...(scope.comments ? ['comment'] : [])];
  }

  /** @returns how many need no request of their own @throws SourceFailure `auth_failed` */
  async prepare(ids: readonly string[], signal: AbortSignal): Promise<number> {
    if (!this.#readsMany) {
      return 0;
    }
    try {
      const wanted = ids.slice(0, issuesAtOnce);
      const found = await this.#client.issues(wanted, this.#fields, signal);
      const issues = this.#textsOf(found.filter(({ id }) => wanted.includes(id)));
      this.#prepared.add(issues);
      return [...issues.values()].filter(({ text }) => text.isWhole).length;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SourceFailure && error.code === 'auth_failed') {
        // Of these requests alone, or of the credential, for which nothing else works either.
        await this.#client.account(signal);
      }
      // Reading them one by one says what is wrong.
      this.#readsMany =
        error instanceof SourceFailure && ['rate_limited', 'source_unreachable'].includes(error.code);
      return 0;
    }
  }

  /** @param accepts whether it belongs to the scope */
  async read(
    { ref, version, maxBytes }: FetchInput,
    accepts: (issue: Issue) => boolean,
    signal: AbortSignal,
  ): Promise<Fetched> {
    try {
      const prepared = this.#prepared.take(ref);
      const found = prepared === undefined ? await this.#issue(ref, signal) : null;
      const issue = prepared?.issue ?? found;
      if (issue === null || !accepts(issue)) {
        return { kind: 'gone' };
      }
      const current = versionOf(issue, this.#scope);
      if (current === version) {
        return { kind: 'unchanged' };
      }
      const room = new TextRoom(maxBytes);
      const text = found === null ? prepared?.text : issueText(found, this.#scope, room);
      const content = text && toMarkdown(issue, await this.#whole(issue, text, room, signal));
      return contentWithin(maxBytes, content ?? null, { mediaType: 'text/markdown', version: current });
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

  /** Those that do not fit together are read by themselves. */
  #textsOf(issues: readonly WholeIssue[]): Map<string, PreparedIssue> {
    const texts = new Map<string, PreparedIssue>();
    const room = new TextRoom(maxJsonBytes);
    for (const { id, key, fields } of issues) {
      try {
        const text = issueText({ id, key, fields }, this.#scope, room);
        const { description: _, comment: __, ...listed } = fields;
        texts.set(id, { issue: { id, key, fields: listed }, text });
      } catch (error) {
        if (!(error instanceof TooLong)) {
          throw error;
        }
      }
    }
    return texts;
  }

  /** With all comments. @throws TooLong as soon as they exceed the room */
  async #whole(issue: Issue, text: IssueText, room: TextRoom, signal: AbortSignal): Promise<IssueText> {
    if (text.isWhole) {
      return text;
    }
    const comments: CommentText[] = [];
    let at = 0;
    for (let pages = 0; pages < maxCommentPages; pages += 1) {
      const page = await this.#client.comments(issue.id, at, signal);
      comments.push(...commentTexts(page?.comments ?? [], this.#scope, room));
      at += page?.comments.length ?? 0;
      if (page === null || page.comments.length === 0 || at >= page.total) {
        break;
      }
    }
    return { ...text, comments };
  }
}
