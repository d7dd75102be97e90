import { richText } from './rich-text.ts';
import type { JiraScope } from './scope.ts';
import type { TextRoom } from './text-room.ts';
import type { Comment, WholeIssue } from './wire.ts';

/** Of a comment, besides the name of its author. */
const headingLength = 64;

export interface CommentText extends Pick<Comment, 'author' | 'created'> {
  /** Markdown. */
  body: string;
}

/** What an issue says, as Markdown. */
export interface IssueText {
  description: string;
  /** Those that belong to the document. */
  comments: readonly CommentText[];
  /** Whether the comments are all that the issue has. */
  isWhole: boolean;
}

/** The text of an issue and of the comments that came with it, which may be some of them. @throws TooLong */
export function issueText({ fields }: WholeIssue, scope: JiraScope, room: TextRoom): IssueText {
  const { description, comment } = fields;
  const isWhole = !scope.comments || (comment != null && comment.comments.length >= comment.total);
  return {
    description: richText(description, room),
    // Others are read page by page, all of them.
    comments: isWhole ? commentTexts(comment?.comments ?? [], scope, room) : [],
    isWhole,
  };
}

/** Of the comments that belong to the document: the text of others is not looked at. @throws TooLong */
export function commentTexts(comments: readonly Comment[], scope: JiraScope, room: TextRoom): CommentText[] {
  return comments
    .filter((comment) => isShownComment(comment, scope))
    .map(({ author, created, body }) => {
      room.take((author?.displayName?.length ?? 0) + headingLength);
      return { author, created, body: richText(body, room) };
    });
}

/** Whether everybody who sees the issue may see it, or the scope names what is restricted. */
function isShownComment({ visibility, jsdPublic }: Comment, { restricted }: JiraScope): boolean {
  return restricted || (visibility == null && jsdPublic !== false);
}
