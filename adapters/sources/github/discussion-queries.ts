const paging = 'pageInfo { hasNextPage endCursor }';
const said = 'body createdAt isAnswer author { login }';
const fields = `
  number title body url closed isAnswered createdAt updatedAt
  author { login }
  category { name }
  labels(first: 50) { nodes { name } }`;
/** A list without `first` would be refused. */
const count = 'comments(first: 1) { totalCount }';

/** A page of discussions. */
export const listQuery = `query ($owner: String!, $name: String!, $first: Int!, $after: String, $order: DiscussionOrder!) {
  repository(owner: $owner, name: $name) {
    hasDiscussionsEnabled
    discussions(first: $first, after: $after, orderBy: $order) {
      ${paging}
      nodes { ${fields} ${count} }
    }
  }
}`;

/** One discussion without what was said below it. */
export const oneQuery = `query ($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    hasDiscussionsEnabled
    discussion(number: $number) { ${fields} ${count} }
  }
}`;

/** A page of the comments of a discussion, each with the first of its replies. */
export const commentsQuery = `query ($owner: String!, $name: String!, $number: Int!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    hasDiscussionsEnabled
    discussion(number: $number) {
      comments(first: $first, after: $after) {
        ${paging}
        nodes { id ${said} replies(first: 20) { ${paging} nodes { ${said} } } }
      }
    }
  }
}`;

/** More replies to a comment. */
export const repliesQuery = `query ($id: ID!, $first: Int!, $after: String) {
  node(id: $id) {
    ... on DiscussionComment { replies(first: $first, after: $after) { ${paging} nodes { ${said} } } }
  }
}`;

/** @param repository `<owner>/<name>` */
export function variablesOf(repository: string): { owner: string; name: string } {
  const [owner = '', name = ''] = repository.split('/');
  return { owner, name };
}
