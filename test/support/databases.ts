import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, inject, onTestFinished } from 'vitest'

/** Every guarantee of storage is tested on both databases: describe.each(dialects). */
export const dialects = ['sqlite', 'postgres'] as const
export type TestDialect = (typeof dialects)[number]

/** Told what to do once nobody needs a thing any more; by default that is when the test has finished. */
export type CleanUp = (work: () => void | Promise<void>) => void

/** For what several tests use: the work is done behind the last test of the file or block, the latest first. */
export function cleanUpAfterAll(): CleanUp {
  const works: Parameters<CleanUp>[0][] = []
  afterAll(async () => {
    for (const work of works.reverse()) await work()
  })
  return (work) => void works.push(work)
}

/** An empty database of its own, gone after the test. */
export async function emptyDatabase(dialect: TestDialect, cleanUp: CleanUp = onTestFinished): Promise<string> {
  if (dialect === 'sqlite') return `sqlite:${join(temporaryFolder(cleanUp), 'passes.db')}`
  const name = `passes_${randomUUID().replaceAll('-', '')}`
  await onServer(`create database ${name}`)
  cleanUp(() => onServer(`drop database ${name} with (force)`))
  return `${inject('postgresUrl')}${name}`
}

/** A folder of its own, gone after the test. */
export function temporaryFolder(cleanUp: CleanUp = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'passes-test-'))
  cleanUp(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function onServer(sql: string): Promise<void> {
  const client = new pg.Client(`${inject('postgresUrl')}postgres`)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
