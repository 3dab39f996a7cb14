import { resolve } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { Interfaces } from '@oclif/core'
import type { Client } from '../../client/client.ts'
import { listPages } from '../arguments/list.ts'
import { retryNotes } from '../command/client-command.ts'
import { writeOut } from '../command/output.ts'
import { type ExportFile, type ExportResult, exportPages, openExportFile } from '../export/export-file.ts'
import { type scanFilterFlags, scanQuery } from './filters.ts'
import { type scanFormats, scansFormat } from './formats.ts'
import { withHolders } from './holders.ts'
import { passIdsOf } from './passes.ts'

export interface ScanExportOptions {
  flags: Interfaces.InferredFlags<typeof scanFilterFlags> & {
    output?: string | undefined
    restart: boolean
    'raw-cells': boolean
    cursor?: string | undefined
  }
  format: (typeof scanFormats)[number]
  /** Origin of the server, which a half-written file is bound to. */
  server: string
  /** For what is asked before the first page: gives up soon. */
  client: Client
  /** For the pages: waits out a server that restarts. */
  sender: (onRetry: (reason: { error: Error; waitSeconds: number }) => void) => Client
  stop: AbortSignal
  note: (message: string) => void
}

/** Writes the ledger to a file or to stdout. */
export async function exportScans(options: ScanExportOptions): Promise<ExportResult> {
  const { flags, format, stop, note } = options
  // Rows are short-lived: left alone, V8 lets their garbage grow far beyond a page.
  setFlagsFromString('--optimize-for-size')
  const query = scanQuery(flags, await passIdsOf(options.client, flags))
  await using file = flags.output === undefined ? undefined : await openFile(flags.output, query, options)
  if (file?.start) note(`Going on behind the first ${file.start.rows} scans, which an earlier run wrote`)
  const cursor = file?.start?.cursor ?? flags.cursor
  // Awaited here: the file must not be closed before.
  return await exportPages({
    stop,
    note,
    pages: (noteBeside) => {
      const client = options.sender(retryNotes(noteBeside))
      const scans = listPages((call) => client.scans.list(call, { signal: stop }), query, { all: true, cursor })
      return withHolders(client, scans, noteBeside)
    },
    format: scansFormat(format, { isContinued: cursor !== undefined, rawCells: flags['raw-cells'] }),
    startRows: file?.start?.rows ?? 0,
    write: async (text, point) => {
      if (!file) return writeOut(text)
      await file.append(text, point)
      return true
    },
    // On a terminal the rows themselves are what moves.
    showProgress: file !== undefined || !process.stdout.isTTY,
  })
}

async function openFile(path: string, query: object, options: ScanExportOptions): Promise<ExportFile> {
  const { workspaceId } = await options.client.tokens.current()
  const filters = Object.entries(query).filter(([, value]) => value !== undefined)
  const settings = Object.fromEntries(filters.map(([name, value]) => [name, [value].flat().sort().join(', ')]))
  const head = {
    format: 2 as const,
    server: options.server,
    workspaceId,
    settings: { ...settings, format: options.format, ...(options.flags['raw-cells'] && { '--raw-cells': 'yes' }) },
  }
  return openExportFile(resolve(path), head, { restart: options.flags.restart })
}
