import type { Defect } from './defect.ts';

const plain = 'test/api/openai-plain.test.ts';
const failures = 'test/api/openai-failures.test.ts';
const messages = 'test/api/openai-messages.test.ts';

/** In responses to OpenAI's clients: failures, plain requests, hints, messages. */
export const clientsDefects: readonly Defect[] = [
  {
    name: 'a failed response as an answer',
    file: 'api/rest/v1/openai/create.ts',
    replace: [['  if (failure !== null) {\n    throw failure;\n  }\n', '']],
    test: failures,
    caughtBy: 'is a bad request where the vendor refused it',
  },
  {
    name: "a vendor's code that is on no list",
    file: 'domain/capabilities/models/vendor-refusal.ts',
    replace: [["typeof word === 'string' && codes.has(word)", "typeof word === 'string'"]],
    test: failures,
    caughtBy: 'omits a vendor’s codes that are on no list',
  },
  {
    name: 'a repeat of a response that called a tool',
    file: 'api/present/openai/failure.ts',
    replace: [['isPassing(reason) && !actedOutside(record)', 'isPassing(reason)']],
    test: failures,
    caughtBy: 'is not requested where an external tool was called',
  },
  {
    name: 'tools that nobody asked for',
    file: 'domain/responses/offer/resolve-tools.ts',
    replace: [['    input.plain === true &&\n', '    input.plain === undefined &&\n']],
    test: plain,
    caughtBy: 'reaches the model as it is',
  },
  {
    name: 'hosted tools that vanish',
    file: 'api/rest/v1/openai/create.ts',
    replace: [['    unsupportedTools: unsupportedTools(body),\n', '']],
    test: plain,
    caughtBy: 'are left out, and the answer says so',
  },
  {
    name: 'a text of the request in the message',
    file: 'domain/foundation/validation/describe-issue.ts',
    replace: [['/^[a-z_]{1,20}$/.test(sent)', 'sent.length > 0']],
    test: messages,
    caughtBy: 'repeats no text of the request',
  },
  {
    name: 'a compressed body read as it is',
    file: 'api/plugins/json-body.ts',
    replace: [["encoding.trim().toLowerCase() !== 'identity'", "encoding === 'none'"]],
    test: messages,
    caughtBy: 'is refused as unsupported',
  },
];
