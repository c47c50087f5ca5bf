"""A beginner's long style: loops and counters, factorials by hand."""


def factorial(n):
    product = 1
    for i in range(2, n + 1):
        product = product * i
    return product


def choose(n, k):
    if k > n:
        return 0
    return factorial(n) // (factorial(k) * factorial(n - k))


def count_passed(results):
    passed = 0
    for result in results:
        if result == True:
            passed = passed + 1
    return passed


def pass_hat(runs, k):
    total = 0
    number_of_cases = 0
    for name in runs:
        results = runs[name]
        if len(results) < k:
            continue
        total = total + choose(count_passed(results), k) / choose(len(results), k)
        number_of_cases = number_of_cases + 1
    if number_of_cases == 0:
        return None
    return total / number_of_cases


def compare(a, b):
    votes_a = 0
    votes_b = 0
    for name in a:
        if name not in b:
            continue
        share_a = count_passed(a[name]) / len(a[name])
        share_b = count_passed(b[name]) / len(b[name])
        if share_a > share_b:
            votes_a = votes_a + 1
        elif share_b > share_a:
            votes_b = votes_b + 1
    n = votes_a + votes_b
    if votes_a < votes_b:
        m = votes_a
    else:
        m = votes_b
    ways = 0
    for i in range(0, m + 1):
        ways = ways + choose(n, i)
    p = 2 * ways / 2**n
    if p > 1:
        p = 1
    if p <= 0.05:
        if votes_a > votes_b:
            verdict = "a"
        else:
            verdict = "b"
    else:
        verdict = "undecided"
    return {"p": p, "verdict": verdict}


def evaluate(ask, cases, budget):
    runs_a = {}
    runs_b = {}
    money = budget
    first = True
    while first or money >= 2 * len(cases):
        first = False
        names = []
        for name in cases:
            if money >= 2:
                names.append(name)
                money = money - 2
        answers_a = ask("a", names)
        answers_b = ask("b", names)
        for i in range(len(names)):
            if names[i] not in runs_a:
                runs_a[names[i]] = []
                runs_b[names[i]] = []
            runs_a[names[i]].append(answers_a[i])
            runs_b[names[i]].append(answers_b[i])
    return compare(runs_a, runs_b)
