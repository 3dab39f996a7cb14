import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { onTestFinished } from 'vitest'
import { sandboxChain } from '../../support/chains.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'

const nginx = '/usr/sbin/nginx'

/** Whether nginx is installed. `.ci/run` installs it. */
export const hasNginx = existsSync(nginx)

export interface Nginx {
  /** The address without TLS, because clients of tests do not have its certificate. */
  url: string
  secureUrl: string
  /** The root of the certificate chain of `secureUrl`, as PEM. */
  ca: string
}

/** Starts the nginx of the guide for production in front of a server, or with the upstream of scaling.md in front of two. */
export async function startNginx(servers: string[]): Promise<Nginx> {
  const folder = temporaryFolder()
  const [securePort, port] = [await freePort(), await freePort()]
  const { serverCertificatePem, serverKeyPem, rootPem } = await sandboxChain({
    passTypeIdentifier: 'pass.test.nginx',
    teamIdentifier: 'TEAM000001',
  })
  writeFileSync(join(folder, 'fullchain.pem'), serverCertificatePem)
  writeFileSync(join(folder, 'privkey.pem'), serverKeyPem, { mode: 0o600 })
  const site = replaceEach(siteFor(servers), [
    ['listen 443 ssl http2;', `listen 127.0.0.1:${securePort} ssl http2; listen 127.0.0.1:${port};`],
    ['/etc/letsencrypt/live/passes.example.com', folder],
  ])
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`)
  const file = join(folder, 'nginx.conf')
  writeFileSync(
    file,
    `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
pid ${folder}/nginx.pid;
error_log stderr;
events {}
http {
access_log off;
${temporary.join('\n')}
${site}
}
`,
  )
  const args = ['-c', file, '-e', 'stderr']
  await execa(nginx, ['-t', ...args])
  const child = execa(nginx, args, { reject: false })
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await child
  })
  await once(child, 'spawn')
  await eventually(() => {
    // Check the content, because `nginx -t` leaves an empty PID file.
    if (readFileSync(join(folder, 'nginx.pid'), 'utf8') === '') throw new Error('nginx has not started')
  })
  return { url: `http://127.0.0.1:${port}`, secureUrl: `https://127.0.0.1:${securePort}`, ca: rootPem }
}

/** Returns the configuration from the documentation, as an operator would combine it. */
function siteFor(servers: string[]): string {
  const [site] = blocksOf('guides/production.md')
  const [upstream, location] = blocksOf('scaling.md')
  const hosts = servers.map((url) => new URL(url).host)
  if (hosts.length === 1) return replaceEach(site!, [['127.0.0.1:3000', hosts[0]!]])
  return [
    replaceEach(upstream!, [
      ['127.0.0.1:3001', hosts[0]!],
      ['127.0.0.1:3002', hosts[1]!],
    ]),
    replaceEach(site!, [['proxy_pass http://127.0.0.1:3000;', location!]]),
  ].join('\n')
}

function blocksOf(page: string): string[] {
  const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8')
  return [...text.matchAll(/^```nginx\n(.*?)^```$/gms)].map(([, block]) => block!)
}

function replaceEach(text: string, replacements: [from: string, to: string][]): string {
  for (const [from] of replacements) if (!text.includes(from)) throw new Error(`The documentation has no "${from}"`)
  return replacements.reduce((replaced, [from, to]) => replaced.replaceAll(from, to), text)
}
