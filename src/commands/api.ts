import { Args, Flags } from '@oclif/core'
import { apiRequest, atCursor, headLines, jsonOf, pageOf } from '../cli/api/request.ts'
import { jsonLines } from '../cli/arguments/list.ts'
import { ClientCommand } from '../cli/command/client-command.ts'
import { readNamed, UsageError } from '../cli/command/errors.ts'
import { writeOut } from '../cli/command/output.ts'
import { leaveEcho, onInterrupt } from '../cli/command/program.ts'
import { readStdinBytes } from '../cli/command/prompt.ts'
import type { Client, RawAnswer, RawRequest } from '../client/client.ts'
import { messagesOf } from '../client/event-stream.ts'

const methods = ['GET', 'POST', 'PATCH', 'DELETE']

export default class Api extends ClientCommand {
  static override summary = 'Send a request to any path of the API, and print its answer.'
  static override description =
    'With the address and token of every other command. JSON is printed indented; a file is written as it is, so send it ' +
    'somewhere with >. A stream of events is printed as it comes, until Ctrl-C. An error answer ends with exit code 1. The paths stand at /docs of the server.'
  static override examples = [
    '<%= config.bin %> api GET /v1/workspace',
    {
      description: 'Fields are parameters of a GET, and the JSON body of anything else; := takes JSON',
      command: '<%= config.bin %> api POST /v1/projects -f name="Spring fair" -f color=green',
    },
    {
      description: 'A body from a file, - for stdin',
      command: '<%= config.bin %> api POST /v1/passes -d @pass.json',
    },
    {
      description: 'Every item of a list, one a line',
      command: '<%= config.bin %> api GET /v1/passes --paginate -f status=ISSUED',
    },
  ]
  static override args = {
    method: Args.string({
      description: 'GET, POST, PATCH or DELETE.',
      required: true,
      options: methods,
    }),
    path: Args.string({ description: 'Path, such as /v1/projects.', required: true }),
  }
  static override flags = {
    data: Flags.string({ char: 'd', summary: 'The body: text, @FILE, or - for stdin.', exclusive: ['field'] }),
    field: Flags.string({
      char: 'f',
      summary: 'A field as name=value, or name:=JSON. Repeatable.',
      multiple: true,
      multipleNonGreedy: true,
      default: [],
    }),
    header: Flags.string({
      char: 'H',
      summary: 'A header as "Name: value". Repeatable.',
      multiple: true,
      multipleNonGreedy: true,
      default: [],
    }),
    include: Flags.boolean({ char: 'i', summary: 'Print status and headers, too.', exclusive: ['paginate'] }),
    paginate: Flags.boolean({ summary: 'Follow a list to its end and print each item on a line.' }),
  }

  async run() {
    const { args, flags } = await this.parse(Api)
    const data = flags.data === undefined ? undefined : await bodyOf(flags.data)
    const request = apiRequest(args.method, args.path, { data, field: flags.field, header: flags.header })
    const client = this.connect(flags)
    if (flags.paginate) return printPages(client, request)
    const stop = new AbortController()
    const answer = await client.request(request, { signal: stop.signal })
    if (answer.stream) return this.#follow(answer, flags.include, stop)
    const value = jsonOf(answer)
    if (this.jsonEnabled()) {
      if (value === undefined && answer.body.length > 0) throw new UsageError('The answer is a file: leave out --json')
      const { status, headers } = answer
      return flags.include ? { status, headers, body: value ?? null } : (value ?? null)
    }
    if (flags.include) await writeOut(headLines(answer))
    if (value !== undefined) await writeOut(`${JSON.stringify(value, undefined, 2)}\n`)
    else await writeFileOut(answer)
  }

  /** Server-sent events as they come, until either side ends it; with --json the data of each on a line. */
  async #follow({ stream, ...head }: RawAnswer, include: boolean, stop: AbortController): Promise<void> {
    const release = onInterrupt(() => {
      process.exitCode = 130
      leaveEcho()
      stop.abort()
    })
    try {
      if (include && !this.jsonEnabled()) await writeOut(headLines(head))
      const pieces = this.jsonEnabled() ? dataLines(stream!) : stream!
      for await (const piece of pieces) if (!(await writeOut(piece))) return
    } catch (error) {
      if (!stop.signal.aborted) throw error
    } finally {
      release()
    }
  }
}

async function* dataLines(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const { data } of messagesOf(stream)) if (data !== '') yield `${data}\n`
}

async function bodyOf(data: string): Promise<Uint8Array> {
  if (data === '-') return readStdinBytes()
  return data.startsWith('@') ? readNamed(data.slice(1)) : Buffer.from(data)
}

/** A page at a time, however long the list is. */
async function printPages(client: Client, request: RawRequest): Promise<void> {
  if (request.method !== 'GET') throw new UsageError('--paginate is for lists, which a GET reads')
  let next: RawRequest | undefined = request
  while (next) {
    const { items, nextCursor } = pageOf(await client.request(next))
    if (!(await writeOut(jsonLines(items)))) return
    next = nextCursor === null ? undefined : atCursor(next, nextCursor)
  }
}

async function writeFileOut({ body, headers }: RawAnswer): Promise<void> {
  const type = String(headers['content-type'] ?? '')
  if (process.stdout.isTTY && body.length > 0 && !type.startsWith('text/')) {
    throw new UsageError(`The answer is a file (${type}), which a terminal cannot show`, { hint: 'add > FILE.' })
  }
  await writeOut(body)
}
