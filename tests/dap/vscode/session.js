// SPDX-License-Identifier: Apache-2.0
// A session in a real VS Code, driven through its page: node session.js FACTS, a JSON file.  Each step leaves a picture in the
// folder of that file.
const assert = require('assert');
const fs = require('fs');
const path = require('path');
const { createRequire } = require('module');

const facts = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const puppeteer = createRequire(facts.modules + '/')('puppeteer-core');
const pictures = path.dirname(process.argv[2]);
const TIMEOUT = 60000;
const KYMO = 'Kymo: a recorded run';
const WITH_VALUES = 'Kymo: recorded with values';
let page, shots = 0;

const text = selector => page.evaluate(wanted => [...document.querySelectorAll(wanted)].map(one => one.innerText), selector);

// Wait until `predicate` of the page's texts at `selector` holds.
async function until(what, selector, predicate, patience = TIMEOUT) {
    const from = Date.now();
    for (;;) {
        const texts = await text(selector);
        if (predicate(texts))
            return texts;
        if (Date.now() - from > patience) {
            if (patience === TIMEOUT) // or it is tried again
                await picture('failed');
            throw new Error(`${what}: never seen; there is ${JSON.stringify(texts)}`);
        }
        await page.evaluate(() => new Promise(requestAnimationFrame));
    }
}

async function picture(name) {
    await page.screenshot({ path: path.join(pictures, `${String(++shots).padStart(2, '0')}-${name}.png`) });
}

async function chord(modifier, key) {
    await page.keyboard.down(modifier);
    await page.keyboard.press(key);
    await page.keyboard.up(modifier);
}

// Type into the box that is opened by Ctrl+P; what is chosen is the line with `choice`, which may not be there at once.
async function choose(typed, choice) {
    const box = '.quick-input-widget:not([style*="display: none"])';
    for (let chosen = [], from = Date.now(); !chosen.some(row => row.includes(choice));) {
        assert(Date.now() - from < 2 * TIMEOUT, `there is no ${choice} to choose`);
        await page.keyboard.press('Escape');
        await chord('Control', 'p');
        // While it is closing it may overlook the keys.
        if (!await page.waitForSelector(`${box} input`, { visible: true, timeout: TIMEOUT / 10 }).catch(() => null))
            continue;
        await page.keyboard.type(typed);
        chosen = await until(typed, `${box} .quick-input-list .monaco-list-row.focused`, rows => rows.length && (rows[0].includes(choice) || /^No /.test(rows[0])),
            TIMEOUT / 4).catch(() => []); // it may have closed while this was typed
    }
    await page.keyboard.press('Enter');
}

const command = name => choose('>' + name, name);
const line = wanted => choose(':' + wanted, `line ${wanted}`).then(() => page.waitForFunction(
    at => document.querySelector('.statusbar').innerText.includes(`Ln ${at},`), { timeout: TIMEOUT }, wanted));

// "function line" of each frame that is shown, and why its thread stands there.
const frames = () => page.evaluate(() => [...document.querySelectorAll('.debug-call-stack .stack-frame:not(.label)')].map(
    frame => `${frame.querySelector('.label.expression').innerText} ${frame.querySelector('.line-number').innerText.split(':')[0]}`));

// The first thread that is unfolded stands at "function line".
async function standsAt(place, why) {
    await page.waitForFunction((wanted, reason) => {
        const frame = document.querySelector('.debug-call-stack .stack-frame');
        return frame && frame.querySelector('.label.expression').innerText + ' ' + frame.querySelector('.line-number').innerText.split(':')[0] === wanted &&
            (!reason || document.querySelector('.debug-call-stack').innerText.toUpperCase().includes(reason.toUpperCase()));
    }, { timeout: TIMEOUT }, place, why).catch(async error => {
        await picture('failed');
        throw new Error(`not at ${place}, ${why}: ${await frames()}; ${await text('.debug-call-stack')}: ${error.message}`);
    });
}

async function clickFrame(name) {
    for (const frame of await page.$$('.debug-call-stack .stack-frame'))
        if ((await frame.evaluate(one => one.innerText)).includes(name))
            return frame.click();
}

async function press(icon) {
    const button = `.debug-toolbar a.codicon-debug-${icon}:not(.disabled)`;
    await page.waitForSelector(button, { visible: true, timeout: TIMEOUT });
    await page.click(button);
}

async function breakpoint(kind, at, typed) {
    await page.click('.tab[data-resource-name="stock.py"]');
    await line(facts.lines[at]);
    await command(kind);
    if (typed) {
        await page.waitForSelector('.breakpoint-widget .monaco-editor.focused', { visible: true, timeout: TIMEOUT });
        await page.keyboard.type(typed);
        await until('what is typed', '.breakpoint-widget .view-line', rows => rows.join('').replace(/\u00a0/g, ' ') === typed);
        await page.keyboard.press('Enter');
    }
    await until('the breakpoint', '.debug-breakpoints .monaco-list-row', rows => rows.some(row => row.includes('stock.py') && row.includes(String(facts.lines[at]))));
}

async function removeBreakpoint(at) {
    await page.click('.tab[data-resource-name="stock.py"]');
    await line(facts.lines[at]);
    await command('Debug: Toggle Breakpoint');
    await until('no breakpoint', '.debug-breakpoints .monaco-list-row', rows => !rows.some(row => row.includes('stock.py')));
}

async function ask(typed, answer) {
    await page.click('.repl-input-wrapper .view-line');
    await page.keyboard.type(typed);
    await page.keyboard.press('Enter');
    await until(typed, '.repl .monaco-list-row', rows => answer.test(rows.join('\n')));
}

async function begin(name = KYMO) {
    await choose('debug ' + name, name);
}

async function itStopsWhereTheExceptionWasRaised() {
    await begin();
    await standsAt(`sell ${facts.lines.fails}`, 'Paused on exception');
    await until('the exception', '.exception-widget', ([shown]) => shown && shown.includes('KeyError'));
    await until('the variable', '.debug-variables .monaco-list-row', rows => rows.some(row => /name\s*=\s*not recorded/.test(row)));
    assert.deepEqual(await page.$$eval('.debug-toolbar a.action-label', all => all.map(one => one.getAttribute('aria-label').split(' (')[0])),
        ['Continue', 'Step Over', 'Step Into', 'Step Out', 'Step Back', 'Reverse', 'Restart', 'Stop']);
    const filters = await page.$$eval('.debug-breakpoints .breakpoint', all => all.map(one => [one.innerText.trim(), one.querySelector('input').checked]));
    assert.deepEqual(filters, [['Raised Exceptions', false], ['Uncaught Exceptions', true]]);
    await picture('end');
}

const variable = (name, value) => until(`${name} = ${value}`, '.debug-variables .monaco-list-row',
    rows => rows.some(row => row.replace(/\s*=\s*/, ' = ').trim() === `${name} = ${value}`));

// Point at `name` in the line `-=`: what is shown has `told`.
async function pointAt(told) {
    const at = await page.evaluate(() => {
        const line = [...document.querySelectorAll('.editor-instance .view-line')].find(one => one.innerText.includes('-='));
        const texts = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
        while (!texts.nextNode().data.includes('name'));
        const range = document.createRange(), from = texts.currentNode.data.indexOf('name');
        range.setStart(texts.currentNode, from);
        range.setEnd(texts.currentNode, from + 4);
        const { x, y, width, height } = range.getBoundingClientRect();
        return { x: x + width / 2, y: y + height / 2 };
    });
    await page.mouse.move(at.x - 1, at.y);
    await page.mouse.move(at.x, at.y);
    await until('what is known of it', '.debug-hover-widget', shown => shown.some(one => one.includes(told)));
    await picture('hover');
    await page.mouse.move(700, 700);
}

async function itSaysWhenPointedAt() {
    await pointAt('not recorded');
}

async function itStepsBack() {
    await press('step-back'); // from the exception to its line
    await standsAt(`sell ${facts.lines.fails}`, 'Paused on step');
    await press('step-back');
    await standsAt(`<module> ${facts.lines.sells}`);
    await press('step-back');
    await standsAt(`<module> ${facts.lines.days}`);
    await picture('step-back');
    await press('step-over');
    await standsAt(`<module> ${facts.lines.sells}`);
    await press('step-into');
    await standsAt(`sell ${facts.lines.fails}`);
    await press('step-out');
    await standsAt(`sell ${facts.lines.fails}`, 'Paused on exception'); // it is never left otherwise
}

async function itGoesBackToBreakpoints() {
    await breakpoint('Debug: Toggle Breakpoint', 'removes');
    await press('reverse-continue');
    await standsAt(`remove ${facts.lines.removes}`, 'Paused on breakpoint');
    await until('the callers', '.debug-call-stack .stack-frame .label.expression', rows => rows.join() === 'remove,sell,<module>');
    assert.deepEqual(await frames(), [`remove ${facts.lines.removes}`, `sell ${facts.lines.calls}`, `<module> ${facts.lines.sells}`]);
    await picture('reverse');
    await removeBreakpoint('removes');
    await breakpoint('Debug: Add Conditional Breakpoint...', 'fails', 'hits == 2');
    await press('reverse-continue');
    await standsAt(`sell ${facts.lines.fails}`, 'Paused on breakpoint');
    await ask('hits stock.py:' + facts.lines.fails + ' 3', /> .*sell\(\)/);
    await press('reverse-continue');
    await standsAt(`sell ${facts.lines.fails}`, 'Paused on breakpoint');
    await ask('time', /0\.\d+/);
    await picture('conditional');
    await removeBreakpoint('fails');
}

async function itLogs() {
    await breakpoint('Debug: Add Logpoint...', 'loads', '{hits}: {function} of {caller}');
    await ask('goto start', /goto start/);
    await press('continue');
    await standsAt(`sell ${facts.lines.fails}`, 'Paused on exception'); // nothing catches it
    await until('the log', '.repl .monaco-list-row', rows => rows.some(row => row.includes('1: load of <module>')) &&
        rows.some(row => row.includes('2: load of <module>')));
    await picture('log');
    await removeBreakpoint('loads');
}

async function otherThreadsAndTheirSource() {
    await breakpoint('Debug: Toggle Breakpoint', 'reports');
    await press('reverse-continue');
    await until('the thread', '.debug-call-stack .monaco-list-row', rows => /clerk.*\s+PAUSED ON BREAKPOINT\s+report\s/i.test(rows.join('\n')));
    assert((await frames()).includes(`report ${facts.lines.reports}`));
    await until('the stack', '.debug-call-stack .stack-frame', rows => rows.some(row => row.includes('Thread.run')));
    // It lies nowhere below the folder: this is the text of the recording.
    const isShown = patience => until('threading.py', '.editor-instance .view-lines',
        ([shown]) => shown && shown.replace(/\u00a0/g, ' ').includes('self._target(*self._args'), patience);
    await clickFrame('Thread.run');
    await isShown(TIMEOUT / 4).catch(() => clickFrame('Thread.run')); // rows move while the others are told
    await isShown(TIMEOUT);
    await picture('recorded-source');
    await choose('stock.py', 'stock.py'); // its tab has gone: nothing there was typed
    await removeBreakpoint('reports');
}

async function valuesAreShown() {
    await begin(WITH_VALUES);
    await standsAt(`sell ${facts.lines.fails}`, 'Paused on exception');
    await until('the exception', '.exception-widget', ([shown]) => shown && shown.includes("KeyError('cake')"));
    await variable('name', "'cake'");
    await pointAt("'cake'");
    await breakpoint('Debug: Toggle Breakpoint', 'removes');
    await press('reverse-continue');
    await standsAt(`remove ${facts.lines.removes}`, 'Paused on breakpoint');
    await variable('name', "'tea'");
    await ask('stock', /\{'tea': 0\}/);
    await picture('values');
    await removeBreakpoint('removes');
}

async function itEnds() {
    await press('stop');
    await page.waitForFunction(() => !document.querySelector('.debugging'), { timeout: TIMEOUT });
}

async function whatIsMissingIsTold() {
    for (const [name, why] of [['no program', "There is no program '/nowhere/kymo'"], ['no trace', 'No such file or directory']]) {
        await begin(name);
        await until(why, '.monaco-dialog-box, .notification-toast', shown => shown.some(one => one.includes(why)));
        await picture(name.replace(' ', '-'));
        await page.keyboard.press('Escape');
    }
}

(async () => {
    const browser = await puppeteer.launch({
        executablePath: facts.chromium, userDataDir: facts.profile, timeout: TIMEOUT,
        args: ['--no-sandbox', '--disable-gpu'], defaultViewport: { width: 1400, height: 1300 }, // so that all frames are in sight
    });
    try {
        page = await browser.newPage();
        await page.goto(`${facts.url}/?folder=${facts.folder}`, { timeout: TIMEOUT });
        await until('the program', '.explorer-folders-view .monaco-list-row', rows => rows.some(row => row.includes('stock.py')));
        for (const step of [itStopsWhereTheExceptionWasRaised, itSaysWhenPointedAt, itStepsBack, itGoesBackToBreakpoints, itLogs, otherThreadsAndTheirSource, itEnds,
            valuesAreShown, itEnds, whatIsMissingIsTold]) {
            await step();
            console.log('passed', step.name);
        }
    } finally {
        await browser.close();
    }
})().catch(error => {
    console.error(error);
    process.exit(1);
});
