import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { asksToGoOn, Refusal, strictly, type Asked, type Vendor, type WireWriter } from './fake-server.ts';

const signature = { thoughtSignature: z.string().optional() };
const part = z.union([
  z.strictObject({ text: z.string(), thought: z.boolean().optional(), ...signature }),
  z.strictObject({ inlineData: z.strictObject({ mimeType: z.string(), data: z.string().min(1) }) }),
  z.strictObject({
    functionCall: z.strictObject({
      id: z.string().optional(),
      name: z.string(),
      args: z.record(z.string(), z.unknown()),
    }),
    ...signature,
  }),
  z.strictObject({
    functionResponse: z.strictObject({
      id: z.string().optional(),
      name: z.string(),
      response: z.record(z.string(), z.unknown()),
      parts: z
        .array(
          z.strictObject({ inlineData: z.strictObject({ mimeType: z.string(), data: z.string().min(1) }) }),
        )
        .optional(),
    }),
  }),
]);
const request = z.strictObject({
  contents: z
    .array(
      z.strictObject({
        role: z.enum(['user', 'model']),
        parts: z.array(part).min(1, 'contents.parts must not be empty.'),
      }),
    )
    .min(1),
  systemInstruction: z.strictObject({ parts: z.array(z.strictObject({ text: z.string() })) }).optional(),
  generationConfig: z
    .strictObject({
      maxOutputTokens: z.int().optional(),
      temperature: z.number().optional(),
      topP: z.number().optional(),
      responseMimeType: z.string().optional(),
      responseSchema: z.unknown().optional(),
      responseJsonSchema: z.unknown().optional(),
      thinkingConfig: z
        .strictObject({
          includeThoughts: z.boolean().optional(),
          thinkingLevel: z.enum(['minimal', 'low', 'medium', 'high']).optional(),
          thinkingBudget: z.int().optional(),
        })
        .optional(),
    })
    .optional(),
  tools: z
    .array(
      z.strictObject({
        functionDeclarations: z.array(
          z.strictObject({
            name: z.string(),
            description: z.string(),
            parameters: z.unknown().optional(),
            parametersJsonSchema: z.unknown().optional(),
          }),
        ),
      }),
    )
    .optional(),
  toolConfig: z
    .strictObject({
      functionCallingConfig: z.strictObject({
        mode: z.enum(['AUTO', 'ANY', 'NONE', 'VALIDATED']),
        allowedFunctionNames: z.array(z.string()).optional(),
      }),
    })
    .optional(),
});

type Request = z.infer<typeof request>;
type Content = Request['contents'][number];

/**
 * Gemini's streamGenerateContent. The stand-in signature that Google documents for calls of other models is
 * refused for calls that this server made itself: it would show a lost signature.
 */
export function gemini(): Vendor {
  const issued = new Map<string, string>();
  return {
    accepts: (method, path) =>
      method === 'POST' && /^\/v1beta\/models\/[^/:]+:streamGenerateContent\?alt=sse$/.test(path),
    error: (status, text) => ({
      error: {
        code: status,
        message: text,
        status: status === 429 ? 'RESOURCE_EXHAUSTED' : status === 500 ? 'INTERNAL' : 'INVALID_ARGUMENT',
      },
    }),
    read: ({ body }) => {
      const asked = strictly(request, body, (path, keys, text) =>
        keys === null
          ? `Invalid value at '${path}': ${text}`
          : `Invalid JSON payload received. Unknown name "${keys[0]}" at '${path}': Cannot find field.`,
      );
      checkContents(asked.contents, issued);
      return understand(asked);
    },
    writer: ({ body }, send) => {
      const shown = (body as Request).generationConfig?.thinkingConfig?.includeThoughts === true;
      return writer(issued, shown, send);
    },
  };
}

const callsOf = (content: Content | undefined) =>
  content?.parts.flatMap((each) => ('functionCall' in each ? [each] : [])) ?? [];
const responsesOf = (content: Content | undefined) =>
  content?.parts.flatMap((each) => ('functionResponse' in each ? [each] : [])) ?? [];
const textOf = (content: Content | undefined, role: string): string =>
  content?.role === role
    ? content.parts.map((each) => ('text' in each && each.thought !== true ? each.text : '')).join('')
    : '';
const isQuestion = (content: Content): boolean =>
  content.role === 'user' && responsesOf(content).length === 0;

function checkContents(contents: readonly Content[], issued: ReadonlyMap<string, string>): void {
  const asked = contents.findLastIndex((each) => isQuestion(each));
  contents.forEach((content, at) => {
    const calls = callsOf(content);
    if (calls.length > 0 && contents[at - 1]?.role !== 'user') {
      throw new Refusal(
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      );
    }
    const answered = responsesOf(content).length;
    const called = callsOf(contents[at - 1]).length;
    if (answered !== called && (answered > 0 || called > 0)) {
      throw new Refusal(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      );
    }
    const [first] = calls;
    if (first === undefined || at < asked) return;
    const key = JSON.stringify([first.functionCall.name, first.functionCall.args]);
    const own = issued.get(key);
    if (first.thoughtSignature === undefined || (own !== undefined && own !== first.thoughtSignature)) {
      throw new Refusal(
        `Function call is missing a thought_signature in functionCall parts: ${first.functionCall.name}, position ${at + 1}.`,
      );
    }
  });
  if (callsOf(contents.at(-1)).length > 0) {
    throw new Refusal(
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    );
  }
}

function understand({ contents, tools, toolConfig }: Request): Asked {
  const goesOn = asksToGoOn(textOf(contents.at(-1), 'user'));
  const base = goesOn ? contents.slice(0, -2) : contents;
  const question = base.findLastIndex((each) => isQuestion(each));
  return {
    round: base.slice(question + 1).filter((each) => callsOf(each).length > 0).length,
    prefix: goesOn ? textOf(contents.at(-2), 'model') : null,
    offers:
      toolConfig?.functionCallingConfig.mode === 'NONE'
        ? []
        : (tools ?? []).flatMap((each) => each.functionDeclarations.map(({ name }) => name)),
    thinks: true,
  };
}

function writer(
  issued: Map<string, string>,
  shown: boolean,
  emit: (event: string | null, data: unknown) => void,
): WireWriter {
  const send = (parts: object[], more: object = {}) =>
    emit(null, {
      candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
      modelVersion: 'fake',
    });
  return {
    begin: () => undefined,
    reasoning: (text) => {
      if (shown) send([{ text, thought: true }]);
    },
    text: (piece) => send([{ text: piece }]),
    call: (name, args) => {
      const thoughtSignature = randomBytes(24).toString('base64');
      issued.set(JSON.stringify([name, args]), thoughtSignature);
      send([{ functionCall: { name, args }, thoughtSignature }]);
    },
    end: (reason, { input, output, reasoning }) => {
      // A text's own signature comes with the last, empty part.
      const parts =
        reason === 'stop' ? [{ text: '', thoughtSignature: randomBytes(12).toString('base64') }] : [];
      emit(null, {
        candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
        usageMetadata: {
          promptTokenCount: input,
          cachedContentTokenCount: 40,
          candidatesTokenCount: output,
          thoughtsTokenCount: reasoning,
          totalTokenCount: input + output + reasoning,
        },
      });
    },
  };
}
